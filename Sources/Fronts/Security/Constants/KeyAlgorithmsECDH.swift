import Foundation

// String values as in Apple's published `SecKeyAdaptors.m`.

/// ECDH. The curves' cofactor is 1, so both kinds agree.
extension SecKeyAlgorithm {
    /// The shared point's x coordinate.
    public static let ecdhKeyExchangeStandard = SecKeyAlgorithm("algid:keyexchange:ECDH")
    /// The KDF of ANSI X9.63 over it, SHA-1.
    public static let ecdhKeyExchangeStandardX963SHA1 = SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA1")
    /// The KDF of ANSI X9.63 over it, SHA-224.
    public static let ecdhKeyExchangeStandardX963SHA224 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA224")
    /// The KDF of ANSI X9.63 over it, SHA-256.
    public static let ecdhKeyExchangeStandardX963SHA256 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA256")
    /// The KDF of ANSI X9.63 over it, SHA-384.
    public static let ecdhKeyExchangeStandardX963SHA384 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA384")
    /// The KDF of ANSI X9.63 over it, SHA-512.
    public static let ecdhKeyExchangeStandardX963SHA512 =
        SecKeyAlgorithm("algid:keyexchange:ECDH:KDFX963:SHA512")
    /// The shared point's x coordinate.
    public static let ecdhKeyExchangeCofactor = SecKeyAlgorithm("algid:keyexchange:ECDHC")
    /// The KDF of ANSI X9.63 over it, SHA-1.
    public static let ecdhKeyExchangeCofactorX963SHA1 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA1")
    /// The KDF of ANSI X9.63 over it, SHA-224.
    public static let ecdhKeyExchangeCofactorX963SHA224 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA224")
    /// The KDF of ANSI X9.63 over it, SHA-256.
    public static let ecdhKeyExchangeCofactorX963SHA256 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA256")
    /// The KDF of ANSI X9.63 over it, SHA-384.
    public static let ecdhKeyExchangeCofactorX963SHA384 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA384")
    /// The KDF of ANSI X9.63 over it, SHA-512.
    public static let ecdhKeyExchangeCofactorX963SHA512 =
        SecKeyAlgorithm("algid:keyexchange:ECDHC:KDFX963:SHA512")
}
