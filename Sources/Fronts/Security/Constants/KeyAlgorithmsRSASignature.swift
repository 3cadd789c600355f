import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// RSA signatures.
extension SecKeyAlgorithm {
    /// The RSA operation on a padded block.
    public static let rsaSignatureRaw = SecKeyAlgorithm("algid:sign:RSA:raw")
    /// PKCS #1 v1.5 padding of any bytes.
    public static let rsaSignatureDigestPKCS1v15Raw = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15")
    /// PKCS #1 v1.5 for a SHA-1 digest.
    public static let rsaSignatureDigestPKCS1v15SHA1 = SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA1")
    /// PKCS #1 v1.5 for a SHA-224 digest.
    public static let rsaSignatureDigestPKCS1v15SHA224 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA224")
    /// PKCS #1 v1.5 for a SHA-256 digest.
    public static let rsaSignatureDigestPKCS1v15SHA256 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA256")
    /// PKCS #1 v1.5 for a SHA-384 digest.
    public static let rsaSignatureDigestPKCS1v15SHA384 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA384")
    /// PKCS #1 v1.5 for a SHA-512 digest.
    public static let rsaSignatureDigestPKCS1v15SHA512 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PKCS1v15:SHA512")
    /// PSS for a SHA-1 digest, with a salt of the digest's length.
    public static let rsaSignatureDigestPSSSHA1 = SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA1:SHA1:20")
    /// PSS for a SHA-224 digest, with a salt of the digest's length.
    public static let rsaSignatureDigestPSSSHA224 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA224:SHA224:24")
    /// PSS for a SHA-256 digest, with a salt of the digest's length.
    public static let rsaSignatureDigestPSSSHA256 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA256:SHA256:32")
    /// PSS for a SHA-384 digest, with a salt of the digest's length.
    public static let rsaSignatureDigestPSSSHA384 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA384:SHA384:48")
    /// PSS for a SHA-512 digest, with a salt of the digest's length.
    public static let rsaSignatureDigestPSSSHA512 =
        SecKeyAlgorithm("algid:sign:RSA:digest-PSS:SHA512:SHA512:64")
    /// PKCS #1 v1.5 for a message, with SHA-1.
    public static let rsaSignatureMessagePKCS1v15SHA1 =
        SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA1")
    /// PKCS #1 v1.5 for a message, with SHA-224.
    public static let rsaSignatureMessagePKCS1v15SHA224 =
        SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA224")
    /// PKCS #1 v1.5 for a message, with SHA-256.
    public static let rsaSignatureMessagePKCS1v15SHA256 =
        SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA256")
    /// PKCS #1 v1.5 for a message, with SHA-384.
    public static let rsaSignatureMessagePKCS1v15SHA384 =
        SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA384")
    /// PKCS #1 v1.5 for a message, with SHA-512.
    public static let rsaSignatureMessagePKCS1v15SHA512 =
        SecKeyAlgorithm("algid:sign:RSA:message-PKCS1v15:SHA512")
    /// PSS for a message, with SHA-1 and a salt of the digest's length.
    public static let rsaSignatureMessagePSSSHA1 = SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA1:SHA1:20")
    /// PSS for a message, with SHA-224 and a salt of the digest's length.
    public static let rsaSignatureMessagePSSSHA224 =
        SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA224:SHA224:24")
    /// PSS for a message, with SHA-256 and a salt of the digest's length.
    public static let rsaSignatureMessagePSSSHA256 =
        SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA256:SHA256:32")
    /// PSS for a message, with SHA-384 and a salt of the digest's length.
    public static let rsaSignatureMessagePSSSHA384 =
        SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA384:SHA384:48")
    /// PSS for a message, with SHA-512 and a salt of the digest's length.
    public static let rsaSignatureMessagePSSSHA512 =
        SecKeyAlgorithm("algid:sign:RSA:message-PSS:SHA512:SHA512:64")
}
