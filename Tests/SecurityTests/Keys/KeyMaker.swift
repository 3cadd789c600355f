import Foundation
import Security
import Testing

/// Keys for tests, made with Apple's functions only.
enum KeyMaker {
    /// The elliptic-curve key sizes.
    static let ellipticSizes = [256, 384, 521]

    /// Generates a private key in this process.
    static func make(_ type: CFString = kSecAttrKeyTypeECSECPrimeRandom, _ size: Int = 256) throws -> SecKey {
        let parameters: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: size]
        var error: Unmanaged<CFError>?
        return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, &error), "\(parameters)")
    }

    /// Imports a key from bytes.
    static func read(
        _ octets: Data,
        _ type: CFString,
        _ keyClass: CFString = kSecAttrKeyClassPrivate
    ) throws -> SecKey {
        let attributes: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass]
        var error: Unmanaged<CFError>?
        return try #require(SecKeyCreateWithData(octets as CFData, attributes as CFDictionary, &error))
    }

    /// Exports a key's bytes.
    static func export(_ key: SecKey) throws -> Data {
        try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
    }

    /// A private key's public key.
    static func publicKey(_ key: SecKey) throws -> SecKey { try #require(SecKeyCopyPublicKey(key)) }

    /// The error code of a failed function.
    static func code(_ error: Unmanaged<CFError>?) -> Int? { error?.takeRetainedValue().code }
}
