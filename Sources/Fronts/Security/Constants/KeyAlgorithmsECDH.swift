import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECDH key exchange. The cofactor of the curves is 1, so both variants give the same result.
extension SecKeyAlgorithm {
    /// Returns the x coordinate of the shared point.
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm("algid:keyexchange:ECDH")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-1.
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA1")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-224.
    public static let ecdhKeyExchangeStandardX963SHA224 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA224")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-256.
    public static let ecdhKeyExchangeStandardX963SHA256 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA256")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-384.
    public static let ecdhKeyExchangeStandardX963SHA384 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA384")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-512.
    public static let ecdhKeyExchangeStandardX963SHA512 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA512")
    /// Returns the x coordinate of the shared point.
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm("algid:keyexchange:ECDHC")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-1.
    public static let ecdhKeyExchangeCofactorX963SHA1 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA1")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-224.
    public static let ecdhKeyExchangeCofactorX963SHA224 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA224")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-256.
    public static let ecdhKeyExchangeCofactorX963SHA256 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA256")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-384.
    public static let ecdhKeyExchangeCofactorX963SHA384 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA384")
    /// Derives a key with the KDF of ANSI X9.63 and SHA-512.
    public static let ecdhKeyExchangeCofactorX963SHA512 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA512")
}
