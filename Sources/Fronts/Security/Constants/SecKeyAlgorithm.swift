public import CoreFoundation

/// What a key does, by Apple's name of the algorithm.
///
/// ``SecKeyIsAlgorithmSupported(_:_:_:)`` tells whether a key can. What needs SHA-224 of a message is never
/// supported here.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, @unchecked Sendable {  // the string never changes
    /// Apple's string, for example `algid:sign:ECDSA:message-X962:SHA256`.
    public let rawValue: CFString

    /// Names an algorithm, known or not.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Names an algorithm, known or not.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }
}

/// What a key exchange is told beside the keys.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, @unchecked Sendable {  // as above
    /// Apple's string.
    public let rawValue: CFString

    /// Names a parameter, known or not.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Names a parameter, known or not.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }

    /// The number of bytes that the key derivation gives; demanded where there is one.
    public static let requestedSize = SecKeyKeyExchangeParameter("requestedSize")
    /// What both sides mix into the key derivation, `Data`.
    public static let sharedInfo = SecKeyKeyExchangeParameter("sharedInfo")
}

/// What is done with a key.
public enum SecKeyOperationType: Int, Sendable {
    /// Sign, with a private key.
    case sign = 0
    /// Verify, with a public key.
    case verify = 1
    /// Encrypt, with a public key.
    case encrypt = 2
    /// Decrypt, with a private key.
    case decrypt = 3
    /// Agree on a key, with a private key.
    case keyExchange = 4
}

/// How the deprecated functions pad.
public struct SecPadding: OptionSet, Sendable {
    /// Apple's number.
    public let rawValue: UInt32

    /// Takes any number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PKCS #1 v1.5 around the bytes as they are; for elliptic curves, DER of a digest.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP with SHA-1.
    public static let OAEP = SecPadding(rawValue: 2)
    /// Elliptic curves: r and s instead of DER.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    /// Never supported: the digest is broken.
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    /// Never supported: the digest is broken.
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    /// PKCS #1 v1.5 of a digest by SHA-1.
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    /// PKCS #1 v1.5 of a digest by SHA-224.
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    /// PKCS #1 v1.5 of a digest by SHA-256.
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    /// PKCS #1 v1.5 of a digest by SHA-384.
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    /// PKCS #1 v1.5 of a digest by SHA-512.
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}
