public import CoreFoundation
import Foundation
import KeychainModel
import SecretMemory

/// `SecKeyCreateWithData`: makes a key from the result of ``SecKeyCopyExternalRepresentation(_:_:)``.
///
/// RSA keys are in PKCS #1, elliptic curve keys in X9.63: the byte 4, x, y, and the scalar of a private key.
/// The attributes must contain `kSecAttrKeyType` and `kSecAttrKeyClass`; others, such as a size, are not read, as on
/// Apple's systems.
///
/// - Returns: nil with `errSecParam` for an invalid key or invalid attributes.
public func SecKeyCreateWithData(
    _ keyData: CFData,
    _ attributes: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    reporting(error) { () throws(KeychainError) in
        let parameters = try KeyDataParameters(attributes)
        var octets = [UInt8](keyData as Data)
        defer { wipe(&octets) }
        return SecKey(
            try KeyMaterial(type: parameters.type, isPrivate: parameters.isPrivate, octets: octets)
        )
    }
}

/// `SecKeyCopyExternalRepresentation`: exports a key.
///
/// - Returns: nil with `errSecUnimplemented` for a private key in the keychain's hardware.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    reporting(error) { () throws(KeychainError) in
        guard let octets = key.material.privateData else { throw .notExported }
        return octets
    }
}

extension KeyMaterial {
    /// The exported key; nil for a key in hardware.
    var privateData: NSData? {
        switch self {
        case .rsaPublic, .ecPublic: NSData(data: Data(publicOctets))
        case .rsaPrivate(let key): NSData(data: key.pkcs1)
        case .ecPrivate(let key as SoftwareECPrivateKey): NSData(data: key.x963)
        case .ecPrivate: nil
        }
    }
}

extension KeychainError {
    /// `errSecUnimplemented` for the export of a private key in hardware.
    static let notExported = KeychainError.key(.unimplemented, "export not implemented for key")
}
