public import KeychainModel
public import SecretMemory

/// Private keys that live in the TPM: made there, used there, never out of it.
///
/// A key's blob is for its own chip; the chip's limit on guesses plays no part, since a key's authorisation is
/// random and nobody guesses it.
public struct TPMPrivateKeys: PrivateKeyHardware {
    private let tpm: TPM

    /// Makes and uses keys in a chip.
    public init(_ tpm: TPM) { self.tpm = tpm }

    /// Always true; that a chip is a simulator is told by ``TPMKeySealer/assurance()``.
    public var isHardware: Bool { true }

    /// Makes a key under the storage primary.
    ///
    /// - Parameter authorization: 32 random bytes; every use needs the same.
    /// - Returns: the key, with a blob for this chip alone.
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` when the chip is gone.
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
    ///   - authorization: what the key was made with.
    /// - Returns: r and s, 32 bytes each.
    /// - Throws: ``KeychainError`` with `errSecParam` for another length, `errSecAuthFailed` for another
    ///   authorisation, `errSecDecode` for a blob that is damaged, and with ``DriverCause/otherHardware`` for one of
    ///   another chip or from before this one was cleared.
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
    ///   - authorization: what the key was made with.
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
