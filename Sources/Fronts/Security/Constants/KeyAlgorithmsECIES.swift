import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECIES: ECDH with a fresh key, the KDF of ANSI X9.63, and AES-GCM. The cofactor of the curves is 1, so both
/// variants are compatible.
extension SecKeyAlgorithm {
    /// KDF with SHA-1; the IV is all zeros.
    public static let eciesEncryptionStandardX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")
    /// KDF with SHA-224; the IV is all zeros.
    public static let eciesEncryptionStandardX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")
    /// KDF with SHA-256; the IV is all zeros.
    public static let eciesEncryptionStandardX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")
    /// KDF with SHA-384; the IV is all zeros.
    public static let eciesEncryptionStandardX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")
    /// KDF with SHA-512; the IV is all zeros.
    public static let eciesEncryptionStandardX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")
    /// KDF with SHA-1; the IV is all zeros.
    public static let eciesEncryptionCofactorX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")
    /// KDF with SHA-224; the IV is all zeros.
    public static let eciesEncryptionCofactorX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")
    /// KDF with SHA-256; the IV is all zeros.
    public static let eciesEncryptionCofactorX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
    /// KDF with SHA-384; the IV is all zeros.
    public static let eciesEncryptionCofactorX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")
    /// KDF with SHA-512; the IV is all zeros.
    public static let eciesEncryptionCofactorX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")
    /// KDF with SHA-224; the IV is derived too.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
    /// KDF with SHA-256; the IV is derived too.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    /// KDF with SHA-384; the IV is derived too.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
    /// KDF with SHA-512; the IV is derived too.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
    /// KDF with SHA-224; the IV is derived too.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
    /// KDF with SHA-256; the IV is derived too.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
    /// KDF with SHA-384; the IV is derived too.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
    /// KDF with SHA-512; the IV is derived too.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}
