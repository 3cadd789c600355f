public import CoreFoundation

/// An algorithm of a key operation, by Apple's name.
///
/// ``SecKeyIsAlgorithmSupported(_:_:_:)`` checks whether a key supports it. Algorithms that hash a message
/// with SHA-224 are never supported here.
public struct SecKeyAlgorithm: RawRepresentable, Hashable, @unchecked Sendable {  // the string never changes
    /// Apple's string, for example `algid:sign:ECDSA:message-X962:SHA256`.
    public let rawValue: CFString

    /// Makes an algorithm from any name.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Makes an algorithm from any name.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }
}

/// A parameter of a key exchange, in addition to the keys.
public struct SecKeyKeyExchangeParameter: RawRepresentable, Hashable, @unchecked Sendable {  // as above
    /// Apple's string.
    public let rawValue: CFString

    /// Makes a parameter from any name.
    public init(rawValue: CFString) { self.rawValue = rawValue }

    /// Makes a parameter from any name.
    public init(_ rawValue: CFString) { self.rawValue = rawValue }

    /// The number of bytes to derive; required for algorithms with a key derivation.
    public static let requestedSize = SecKeyKeyExchangeParameter("requestedSize")
    /// Shared info for the key derivation, `Data`; both sides must use the same.
    public static let sharedInfo = SecKeyKeyExchangeParameter("sharedInfo")
}

/// An operation with a key.
public enum SecKeyOperationType: Int, Sendable {
    /// Signing, with a private key.
    case sign = 0
    /// Verification, with a public key.
    case verify = 1
    /// Encryption, with a public key.
    case encrypt = 2
    /// Decryption, with a private key.
    case decrypt = 3
    /// Key exchange, with a private key.
    case keyExchange = 4
}

/// The padding of the deprecated functions.
public struct SecPadding: OptionSet, Sendable {
    /// Apple's number.
    public let rawValue: UInt32

    /// Accepts any number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PKCS #1 v1.5 padding of the given bytes; for elliptic curves, the DER signature of a digest.
    public static let PKCS1 = SecPadding(rawValue: 1)
    /// OAEP with SHA-1.
    public static let OAEP = SecPadding(rawValue: 2)
    /// For elliptic curves: r and s instead of DER.
    public static let sigRaw = SecPadding(rawValue: 0x4000)
    /// Never supported: MD2 is broken.
    public static let PKCS1MD2 = SecPadding(rawValue: 0x8000)
    /// Never supported: MD5 is broken.
    public static let PKCS1MD5 = SecPadding(rawValue: 0x8001)
    /// PKCS #1 v1.5 for a SHA-1 digest.
    public static let PKCS1SHA1 = SecPadding(rawValue: 0x8002)
    /// PKCS #1 v1.5 for a SHA-224 digest.
    public static let PKCS1SHA224 = SecPadding(rawValue: 0x8003)
    /// PKCS #1 v1.5 for a SHA-256 digest.
    public static let PKCS1SHA256 = SecPadding(rawValue: 0x8004)
    /// PKCS #1 v1.5 for a SHA-384 digest.
    public static let PKCS1SHA384 = SecPadding(rawValue: 0x8005)
    /// PKCS #1 v1.5 for a SHA-512 digest.
    public static let PKCS1SHA512 = SecPadding(rawValue: 0x8006)
}
