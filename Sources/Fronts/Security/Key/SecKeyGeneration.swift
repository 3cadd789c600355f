public import CoreFoundation
import Foundation
import KeychainClient
import KeychainModel

/// `SecKeyCreateRandomKey`: makes a key, and stores it if its attributes say so.
///
/// With `kSecAttrTokenID` the keychain's hardware makes and holds the key: P-256, permanent unless
/// `kSecAttrIsPermanent` is false. Other keys exist in this process, and also in the keychain if that attribute is
/// true. The parameters are `kSecAttrKeyType`, `kSecAttrKeySizeInBits`, and under `kSecPrivateKeyAttrs` and
/// `kSecPublicKeyAttrs` the attributes of one key, which take precedence over the outer ones.
///
/// - Returns: nil with `errSecParam` for invalid parameters, `errSecKeySizeNotAllowed` for an unsupported size, and
///   the status of `SecItemAdd` if the key is permanent.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    reporting(error) { () throws(KeychainError) in try KeyPair(parameters).privateKey }
}

/// `SecKeyGeneratePair`, deprecated: like ``SecKeyCreateRandomKey(_:_:)``, but returns both keys.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary,
    _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let pair = try KeyPair(parameters)
        publicKey?.pointee = pair.publicKey
        privateKey?.pointee = pair.privateKey
    }
}

/// A new key pair, stored if its parameters say so.
private struct KeyPair {
    let privateKey: SecKey
    let publicKey: SecKey

    init(_ dictionary: CFDictionary) throws(KeychainError) {
        let parameters = try KeyParameters(dictionary)
        let made = try Self.make(parameters)
        let publicKey = SecKey(made.publicMaterial)
        // The private key first, because a public key alone is useless.
        privateKey = try Self.keep(made, parameters.privateKey)
        do throws(KeychainError) {
            self.publicKey = try Self.keep(publicKey.material, parameters.publicKey)
        } catch {
            if let item = privateKey.item { Self.forget(item) }
            throw error
        }
    }

    private static func make(_ parameters: KeyParameters) throws(KeychainError) -> KeyMaterial {
        if parameters.tokenID != nil, let query = parameters.privateKey.query {
            guard parameters.type == .ec, parameters.sizeInBits ?? 256 == 256 else {
                throw .key(.param, "hardware keys are of P-256")
            }
            return .ecPrivate(try TokenKey(making: query))
        }
        guard let size = parameters.sizeInBits else { throw .key(.keySizeNotAllowed, "no key size") }
        switch parameters.type {
        case .rsa: return .rsaPrivate(try RSAPrivateKey(sizeInBits: size))
        case .ec:
            guard let curve = Curve(rawValue: size) else { throw .key(.keySizeNotAllowed, "no such curve") }
            return .ecPrivate(try SoftwareECPrivateKey(curve: curve))
        }
    }

    private static func keep(
        _ material: KeyMaterial,
        _ parameters: KeyItemParameters
    ) throws(KeychainError) -> SecKey {
        guard parameters.isPermanent, let query = parameters.query else { return SecKey(material) }
        return SecKey(material, item: try query.add(material))
    }

    private static func forget(_ item: PersistentReference) {
        let query = ItemQuery(itemClass: .key, limit: .all, references: [item])
        let prompt = PromptFields(origin: KeychainConnection.originOfNow)
        _ = try? KeychainConnection.current.delete(DeleteItems(query: query, prompt: prompt))
    }
}
