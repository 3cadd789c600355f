public import SecretMemory

/// Creates and uses P-256 private keys that never leave their place: a TPM, or software that declares itself as such.
///
/// The layer above decides which caller may use a key and for what: any caller with a key's authorisation can use it.
/// The vault keeps that authorisation wrapped according to the key's access control.
public protocol PrivateKeyHardware: Sendable {
    /// Whether keys are created in hardware that does not release them.
    var isHardware: Bool { get }

    /// Creates a key; every use needs the same authorisation.
    ///
    /// - Parameter authorization: 32 random bytes.
    /// - Returns: the key.
    /// - Throws: ``KeychainError`` if the hardware refused.
    func makeKey(authorization: borrowing SecretBytes) async throws(KeychainError) -> HardwareKey

    /// Signs a digest with ECDSA.
    ///
    /// - Parameters:
    ///   - digest: 20, 32, 48 or 64 bytes: SHA-1, SHA-256, SHA-384 or SHA-512.
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the 32 bytes that the key was created with.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if the authorisation does not open the blob,
    ///   `errSecDecode` for a blob that this hardware did not create.
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
    ///   - authorization: the 32 bytes that the key was created with.
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
    /// The blob by which its own hardware loads the key; at most ``longestBlob`` bytes.
    public let blob: [UInt8]
    /// Uncompressed X9.63: 4, then x and y of 32 bytes each.
    public let publicKey: [UInt8]

    /// The longest blob, in bytes.
    public static let longestBlob = 1024
    /// The length of an uncompressed point of P-256 in X9.63, in bytes.
    public static let publicKeyOctetCount = 65

    /// Combines both.
    public init(blob: [UInt8], publicKey: [UInt8]) {
        self.blob = blob
        self.publicKey = publicKey
    }
}
