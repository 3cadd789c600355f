import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECIES: a fresh key's ECDH, the KDF of ANSI X9.63, and AES-GCM. The curves' cofactor is 1, so both kinds agree.
extension SecKeyAlgorithm {
    /// SHA-1, the IV all zeros.
    public static let eciesEncryptionStandardX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA1:AESGCM")
    /// SHA-224, the IV all zeros.
    public static let eciesEncryptionStandardX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM")
    /// SHA-256, the IV all zeros.
    public static let eciesEncryptionStandardX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM")
    /// SHA-384, the IV all zeros.
    public static let eciesEncryptionStandardX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM")
    /// SHA-512, the IV all zeros.
    public static let eciesEncryptionStandardX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM")
    /// SHA-1, the IV all zeros.
    public static let eciesEncryptionCofactorX963SHA1AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA1:AESGCM")
    /// SHA-224, the IV all zeros.
    public static let eciesEncryptionCofactorX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM")
    /// SHA-256, the IV all zeros.
    public static let eciesEncryptionCofactorX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM")
    /// SHA-384, the IV all zeros.
    public static let eciesEncryptionCofactorX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM")
    /// SHA-512, the IV all zeros.
    public static let eciesEncryptionCofactorX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM")
    /// SHA-224, the IV derived.
    public static let eciesEncryptionStandardVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA224:AESGCM-KDFIV")
    /// SHA-256, the IV derived.
    public static let eciesEncryptionStandardVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA256:AESGCM-KDFIV")
    /// SHA-384, the IV derived.
    public static let eciesEncryptionStandardVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA384:AESGCM-KDFIV")
    /// SHA-512, the IV derived.
    public static let eciesEncryptionStandardVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDH:KDFX963:SHA512:AESGCM-KDFIV")
    /// SHA-224, the IV derived.
    public static let eciesEncryptionCofactorVariableIVX963SHA224AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA224:AESGCM-KDFIV")
    /// SHA-256, the IV derived.
    public static let eciesEncryptionCofactorVariableIVX963SHA256AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA256:AESGCM-KDFIV")
    /// SHA-384, the IV derived.
    public static let eciesEncryptionCofactorVariableIVX963SHA384AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA384:AESGCM-KDFIV")
    /// SHA-512, the IV derived.
    public static let eciesEncryptionCofactorVariableIVX963SHA512AESGCM =
        SecKeyAlgorithm("algid:encrypt:ECIES:ECDHC:KDFX963:SHA512:AESGCM-KDFIV")
}
