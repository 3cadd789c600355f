public import SecretMemory

/// Makes and uses P-256 private keys that never leave where they were made: a TPM, or software that says so.
///
/// What a key is used for and by whom is decided above: whoever brings a key's authorisation may use it. The
/// vault keeps that authorisation wrapped for exactly what the key's access control demands.
public protocol PrivateKeyHardware: Sendable {
    /// Whether keys are made in hardware that does not give them away.
    var isHardware: Bool { get }

    /// Makes a key; every use needs the same authorisation.
    ///
    /// - Parameter authorization: 32 random bytes.
    /// - Returns: the key.
    /// - Throws: ``KeychainError`` when the hardware refused.
    func makeKey(authorization: borrowing SecretBytes) async throws(KeychainError) -> HardwareKey

    /// Signs a digest with ECDSA.
    ///
    /// - Parameters:
    ///   - digest: 20, 32, 48 or 64 bytes: SHA-1, SHA-256, SHA-384 or SHA-512.
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the 32 bytes that the key was made with.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` when the authorisation does not open the blob,
    ///   `errSecDecode` for a blob that this hardware did not make.
    func sign(
        digest: [UInt8],
        with key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8]

    /// Agrees on a key with ECDH.
    ///
    /// - Parameters:
    ///   - publicKey: the other side's, uncompressed X9.63, 65 bytes.
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the 32 bytes that the key was made with.
    /// - Returns: the shared point's x coordinate, 32 bytes.
    /// - Throws: as ``sign(digest:with:authorization:)``, and `errSecParam` for a point off the curve.
    func agree(
        with publicKey: [UInt8],
        key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes
}

/// A new key of the hardware.
public struct HardwareKey: Sendable, Equatable {
    /// What brings the key back, for its own hardware alone; at most ``longestBlob`` bytes.
    public let blob: [UInt8]
    /// Uncompressed X9.63: 4, then x and y of 32 bytes each.
    public let publicKey: [UInt8]

    /// The longest blob, in bytes.
    public static let longestBlob = 1024
    /// The length of an uncompressed point of P-256 in X9.63, in bytes.
    public static let publicKeyOctetCount = 65

    /// Holds both.
    public init(blob: [UInt8], publicKey: [UInt8]) {
        self.blob = blob
        self.publicKey = publicKey
    }
}
