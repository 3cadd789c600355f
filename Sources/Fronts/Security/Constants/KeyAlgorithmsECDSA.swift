import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECDSA: signatures as DER (ANSI X9.62) or as r and s of equal length (RFC 4754).
extension SecKeyAlgorithm {
    /// Deprecated: r and s of any digest.
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:RFC4754")
    /// DER of any digest.
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962")
    /// DER of a digest, SHA-1.
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA1")
    /// DER of a digest, SHA-224.
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA224")
    /// DER of a digest, SHA-256.
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA256")
    /// DER of a digest, SHA-384.
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA384")
    /// DER of a digest, SHA-512.
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA512")
    /// DER of a message, SHA-1.
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA1")
    /// DER of a message, SHA-224.
    public static let ecdsaSignatureMessageX962SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA224")
    /// DER of a message, SHA-256.
    public static let ecdsaSignatureMessageX962SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA256")
    /// DER of a message, SHA-384.
    public static let ecdsaSignatureMessageX962SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA384")
    /// DER of a message, SHA-512.
    public static let ecdsaSignatureMessageX962SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA512")
    /// r and s of any digest.
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754")
    /// r and s of a digest, SHA-1.
    public static let ecdsaSignatureDigestRFC4754SHA1 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA1")
    /// r and s of a digest, SHA-224.
    public static let ecdsaSignatureDigestRFC4754SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA224")
    /// r and s of a digest, SHA-256.
    public static let ecdsaSignatureDigestRFC4754SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA256")
    /// r and s of a digest, SHA-384.
    public static let ecdsaSignatureDigestRFC4754SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA384")
    /// r and s of a digest, SHA-512.
    public static let ecdsaSignatureDigestRFC4754SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA512")
    /// r and s of a message, SHA-1.
    public static let ecdsaSignatureMessageRFC4754SHA1 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA1")
    /// r and s of a message, SHA-224.
    public static let ecdsaSignatureMessageRFC4754SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA224")
    /// r and s of a message, SHA-256.
    public static let ecdsaSignatureMessageRFC4754SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA256")
    /// r and s of a message, SHA-384.
    public static let ecdsaSignatureMessageRFC4754SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA384")
    /// r and s of a message, SHA-512.
    public static let ecdsaSignatureMessageRFC4754SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA512")
}
