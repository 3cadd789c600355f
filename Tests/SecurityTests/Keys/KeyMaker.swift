import Foundation
import Security
import Testing

/// Keys for tests, by Apple's functions alone.
enum KeyMaker {
    /// The elliptic sizes.
    static let ellipticSizes = [256, 384, 521]

    /// A new private key in this process.
    static func make(_ type: CFString = kSecAttrKeyTypeECSECPrimeRandom, _ size: Int = 256) throws -> SecKey {
        let parameters: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: size]
        var error: Unmanaged<CFError>?
        return try #require(SecKeyCreateRandomKey(parameters as CFDictionary, &error), "\(parameters)")
    }

    /// A key of bytes.
    static func read(
        _ octets: Data,
        _ type: CFString,
        _ keyClass: CFString = kSecAttrKeyClassPrivate
    ) throws -> SecKey {
        let attributes: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeyClass: keyClass]
        var error: Unmanaged<CFError>?
        return try #require(SecKeyCreateWithData(octets as CFData, attributes as CFDictionary, &error))
    }

    /// A key's bytes.
    static func export(_ key: SecKey) throws -> Data {
        try #require(SecKeyCopyExternalRepresentation(key, nil)) as Data
    }

    /// A key's public half.
    static func publicKey(_ key: SecKey) throws -> SecKey { try #require(SecKeyCopyPublicKey(key)) }

    /// What a function that failed reported.
    static func code(_ error: Unmanaged<CFError>?) -> Int? { error?.takeRetainedValue().code }
}
