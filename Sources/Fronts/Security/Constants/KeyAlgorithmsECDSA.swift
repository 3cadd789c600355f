import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECDSA: signatures as DER (ANSI X9.62) or as r and s of equal length (RFC 4754).
extension SecKeyAlgorithm {
    /// Deprecated: signs any digest; r and s.
    public static let ecdsaSignatureRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:RFC4754")
    /// Signs any digest; DER.
    public static let ecdsaSignatureDigestX962 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962")
    /// Signs a SHA-1 digest; DER.
    public static let ecdsaSignatureDigestX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA1")
    /// Signs a SHA-224 digest; DER.
    public static let ecdsaSignatureDigestX962SHA224 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA224")
    /// Signs a SHA-256 digest; DER.
    public static let ecdsaSignatureDigestX962SHA256 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA256")
    /// Signs a SHA-384 digest; DER.
    public static let ecdsaSignatureDigestX962SHA384 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA384")
    /// Signs a SHA-512 digest; DER.
    public static let ecdsaSignatureDigestX962SHA512 = SecKeyAlgorithm("algid:sign:ECDSA:digest-X962:SHA512")
    /// Signs a message with SHA-1; DER.
    public static let ecdsaSignatureMessageX962SHA1 = SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA1")
    /// Signs a message with SHA-224; DER.
    public static let ecdsaSignatureMessageX962SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA224")
    /// Signs a message with SHA-256; DER.
    public static let ecdsaSignatureMessageX962SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA256")
    /// Signs a message with SHA-384; DER.
    public static let ecdsaSignatureMessageX962SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA384")
    /// Signs a message with SHA-512; DER.
    public static let ecdsaSignatureMessageX962SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-X962:SHA512")
    /// Signs any digest; r and s.
    public static let ecdsaSignatureDigestRFC4754 = SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754")
    /// Signs a SHA-1 digest; r and s.
    public static let ecdsaSignatureDigestRFC4754SHA1 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA1")
    /// Signs a SHA-224 digest; r and s.
    public static let ecdsaSignatureDigestRFC4754SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA224")
    /// Signs a SHA-256 digest; r and s.
    public static let ecdsaSignatureDigestRFC4754SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA256")
    /// Signs a SHA-384 digest; r and s.
    public static let ecdsaSignatureDigestRFC4754SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA384")
    /// Signs a SHA-512 digest; r and s.
    public static let ecdsaSignatureDigestRFC4754SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:digest-RFC4754:SHA512")
    /// Signs a message with SHA-1; r and s.
    public static let ecdsaSignatureMessageRFC4754SHA1 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA1")
    /// Signs a message with SHA-224; r and s.
    public static let ecdsaSignatureMessageRFC4754SHA224 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA224")
    /// Signs a message with SHA-256; r and s.
    public static let ecdsaSignatureMessageRFC4754SHA256 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA256")
    /// Signs a message with SHA-384; r and s.
    public static let ecdsaSignatureMessageRFC4754SHA384 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA384")
    /// Signs a message with SHA-512; r and s.
    public static let ecdsaSignatureMessageRFC4754SHA512 =
        SecKeyAlgorithm("algid:sign:ECDSA:message-RFC4754:SHA512")
}
