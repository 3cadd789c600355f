public import SecretMemory

/// Seals the device part of a keybag's keys to this machine: with a file, or with a TPM if there is one.
public protocol KeySealer: Sendable {
    /// The strength of a seal, with reasons; without a blob, of a seal made now.
    func assurance(of blob: [UInt8]?) async -> AssuranceReport

    /// Whether a new seal would be no better than this one: the same kind, on the same hardware.
    func isBest(_ blob: [UInt8]) async -> Bool

    /// Creates a new 32-byte device secret, bound to `authorization` if the hardware supports that.
    ///
    /// - Parameters:
    ///   - authorization: 32 bytes derived from the passcode.
    ///   - keychain: the keychain's permanent identifier, by which ``removeLeftovers(keeping:of:)`` finds what was made.
    /// - Returns: the blob to store, and the secret.
    /// - Throws: ``KeychainError`` if the hardware or the disk refused.
    func seal(
        authorization: borrowing SecretBytes,
        for keychain: [UInt8]
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

    /// Seals without the hardware, in blobs that this sealer opens too: for the recovery code, while the hardware does not
    /// answer. Nil if there is no such seal.
    var withoutHardware: (any KeySealer)? { get }

    /// Whether hardware holds an object for a blob, which ``destroy(_:)`` removes.
    func isInHardware(_ blob: [UInt8]) -> Bool

    /// Destroys a keychain's hardware objects that belong to no blob in use.
    ///
    /// - Parameters:
    ///   - blob: the blob in use; nil before there is one.
    ///   - keychain: the keychain's identifier.
    /// - Throws: ``KeychainError`` if some may be left.
    func removeLeftovers(keeping blob: [UInt8]?, of keychain: [UInt8]) async throws(KeychainError)

    /// Destroys a blob's hardware objects, after another blob replaced it; there may be none any more.
    ///
    /// - Throws: ``KeychainError`` if they may still be there: the hardware does not answer, or is another one.
    func destroy(_ blob: [UInt8]) async throws(KeychainError)
}

extension KeySealer {
    /// Nil: this sealer has no counter.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? { nil }

    /// Nil: this sealer has no other seal.
    public var withoutHardware: (any KeySealer)? { nil }
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
