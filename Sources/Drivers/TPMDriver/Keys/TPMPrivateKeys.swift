public import KeychainModel
public import SecretMemory

/// Private keys in the TPM: created and used there, they never leave it.
///
/// A key's blob is valid for its own chip only. The chip's limit on guesses does not apply, since a key's
/// authorisation is random and cannot be guessed.
public struct TPMPrivateKeys: PrivateKeyHardware {
    private let tpm: TPM

    /// Creates and uses keys in a chip.
    public init(_ tpm: TPM) { self.tpm = tpm }

    /// Always true; ``TPMKeySealer/assurance()`` tells whether the chip is a simulator.
    public var isHardware: Bool { true }

    /// Creates a key under the storage primary.
    ///
    /// - Parameter authorization: 32 random bytes; every use needs the same.
    /// - Returns: the key, with a blob for this chip only.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if the chip is missing.
    public func makeKey(
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> HardwareKey {
        try await tpm.makePrivateKey(authorization)
    }

    /// Signs a digest with ECDSA.
    ///
    /// - Parameters:
    ///   - digest: 20, 32, 48 or 64 bytes.
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the value that the key was created with.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: ``KeychainError`` with `errSecParam` for another length, `errSecAuthFailed` for another
    ///   authorisation, `errSecDecode` for a damaged blob, and with ``DriverCause/otherHardware`` for one of another
    ///   chip or from before this one was cleared.
    public func sign(
        digest: [UInt8],
        with key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8] {
        try await tpm.sign(digest, key, authorization)
    }

    /// Agrees on a key with ECDH.
    ///
    /// - Parameters:
    ///   - publicKey: the other side's, uncompressed X9.63, 65 bytes.
    ///   - key: ``HardwareKey/blob``.
    ///   - authorization: the value that the key was created with.
    /// - Returns: the shared point's x coordinate, 32 bytes.
    /// - Throws: as ``sign(digest:with:authorization:)``, and `errSecParam` for a point off the curve.
    public func agree(
        with publicKey: [UInt8],
        key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await tpm.agree(publicKey, key, authorization)
    }
}
