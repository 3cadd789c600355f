public import SecretMemory

/// Seals the device part of a keybag's keys to this machine: a file today, a TPM where there is one.
public protocol KeySealer: Sendable {
    /// How strong a seal is, and why; without a blob, one that would be made now.
    func assurance(of blob: [UInt8]?) async -> AssuranceReport

    /// Whether a new seal would be no better than this one: of the same kind, on the same hardware.
    func isBest(_ blob: [UInt8]) async -> Bool

    /// Makes a new 32-octet device secret, bound to `authorization` where the hardware can.
    ///
    /// - Parameter authorization: 32 bytes derived from the passcode.
    /// - Returns: the blob to store, and the secret.
    /// - Throws: ``KeychainError`` when the hardware or the disk refused.
    func seal(
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SealedDeviceSecret

    /// Brings back the secret of a blob.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` when the hardware refused the authorisation.
    func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes

    /// How many wrong authorisations the hardware has counted for a blob since the last right one; nil where nothing but
    /// the caller counts.
    ///
    /// - Throws: ``KeychainError`` as ``unseal(_:authorization:)`` does when it cannot judge any.
    func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int?

    /// Destroys what was made for this keychain and never became a blob's, or a former one's; never fails.
    ///
    /// - Parameter blob: what is in use; nil before there is anything.
    func removeLeftovers(keeping blob: [UInt8]?) async

    /// Destroys what a blob stands for, after another took its place; never fails.
    func destroy(_ blob: [UInt8]) async
}

extension KeySealer {
    /// None, where nothing counts.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? { nil }
}

/// A new device secret and the blob that brings it back.
public struct SealedDeviceSecret: ~Copyable, Sendable {
    /// What to store.
    public let blob: [UInt8]
    /// 32 bytes.
    public let secret: SecretBytes

    /// Holds both.
    public init(blob: [UInt8], secret: consuming SecretBytes) {
        self.blob = blob
        self.secret = secret
    }
}
