public import SecretMemory

/// Seals the device part of a keybag's keys to this machine: with a file, or with a TPM if there is one.
public protocol KeySealer: Sendable {
    /// The strength of a seal, with reasons; without a blob, of a seal made now.
    func assurance(of blob: [UInt8]?) async -> AssuranceReport

    /// Whether a new seal would be no better than this one: the same kind, on the same hardware.
    func isBest(_ blob: [UInt8]) async -> Bool

    /// Creates a new 32-byte device secret, bound to `authorization` if the hardware supports that.
    ///
    /// - Parameter authorization: 32 bytes derived from the passcode.
    /// - Returns: the blob to store, and the secret.
    /// - Throws: ``KeychainError`` if the hardware or the disk refused.
    func seal(
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SealedDeviceSecret

    /// Unseals the secret of a blob.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if the hardware refused the authorisation.
    func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes

    /// The wrong authorisations that the hardware has counted for a blob since the last correct one; nil without such
    /// a counter.
    ///
    /// - Throws: ``KeychainError`` as ``unseal(_:authorization:)`` does if it cannot check any authorisation.
    func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int?

    /// Destroys this keychain's hardware objects that belong to no blob in use; never fails.
    ///
    /// - Parameter blob: the blob in use; nil before there is one.
    func removeLeftovers(keeping blob: [UInt8]?) async

    /// Destroys a blob's hardware objects, after another blob replaced it; never fails.
    func destroy(_ blob: [UInt8]) async
}

extension KeySealer {
    /// Nil: this sealer has no counter.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? { nil }
}

/// A new device secret and the blob that unseals it.
public struct SealedDeviceSecret: ~Copyable, Sendable {
    /// The blob to store.
    public let blob: [UInt8]
    /// 32 bytes.
    public let secret: SecretBytes

    /// Combines both.
    public init(blob: [UInt8], secret: consuming SecretBytes) {
        self.blob = blob
        self.secret = secret
    }
}
