public import KeychainModel
public import SecretMemory

/// Seals a keybag's device secret in the TPM, with its own limit of ten guesses.
///
/// Two authorisation values are derived from the passcode. The first belongs to an NV index of the type PIN-fail: a
/// wrong passcode fails there and is counted there, without touching the limit that all users of the chip share. The
/// second belongs to the sealed object, which is subject to that shared limit too, so that the chip's owner gains
/// nothing by creating the index anew. The index is created with the secret and removed with it; it cannot be written
/// again.
public struct TPMKeySealer: KeySealer {
    private let tpm: TPM
    private let treatsSimulatorAsReal: Bool

    /// The number of wrong passcodes after which a keybag closes.
    public static let attempts: UInt32 = 10

    /// Creates a sealer that uses a chip.
    public init(_ tpm: TPM) {
        self.tpm = tpm
        treatsSimulatorAsReal = false
    }

    /// Creates a sealer that rates a simulator as if it were a chip.
    @_spi(Testing)
    public init(_ tpm: TPM, treatsSimulatorAsReal: Bool) {
        self.tpm = tpm
        self.treatsSimulatorAsReal = treatsSimulatorAsReal
    }

    /// The assurance from the chip's own properties; the same for every blob.
    public func assurance(of blob: [UInt8]?) async -> AssuranceReport {
        do {
            return try await tpm.status().assurance(treatsSimulatorAsReal: treatsSimulatorAsReal)
        } catch {
            if error.cause == .ownerAuthorizationSet {
                return AssuranceReport(.test, reasons: [TPMStatus.ownerReason])
            }
            return AssuranceReport(.test, reasons: ["The TPM does not answer."])
        }
    }

    /// Whether the blob is this chip's: sealing it again here would not be stronger.
    public func isBest(_ blob: [UInt8]) async -> Bool { await tpm.isOwn(blob, .keybag) }

    /// Creates and seals a new secret, with its own index.
    ///
    /// - Throws: ``KeychainError`` with `errSecDiskFull` if the chip has no room for another index.
    public func seal(
        authorization: borrowing SecretBytes,
        for keychain: [UInt8]
    ) async throws(KeychainError) -> SealedDeviceSecret {
        try await tpm.sealDeviceSecret(authorization, for: KeychainLabel(of: keychain))
    }

    /// Unseals the secret of a blob.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong passcode, the same with the cause
    ///   ``DriverCause/exhausted`` after too many, `errSecNotAvailable` with ``DriverCause/chipLockout`` while the
    ///   chip is in lockout, `errSecDecode` with ``DriverCause/otherHardware`` on another chip or a cleared one, and
    ///   with ``DriverCause/missingIndex`` if the index was removed.
    public func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await tpm.unsealDeviceSecret(blob, authorization)
    }

    /// The wrong passcodes that the blob's PIN index has counted; does not count as a guess.
    ///
    /// - Throws: ``KeychainError`` with ``DriverCause/chipLockout`` while the chip is in lockout: no passcode can be judged.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? {
        Int(try await tpm.countedFailures(blob))
    }

    /// Removes the keychain's PIN indices, labelled or noted, except the blob's.
    public func removeLeftovers(keeping blob: [UInt8]?, of keychain: [UInt8]) async throws(KeychainError) {
        try await tpm.removeLeftovers(
            [.keybag],
            keeping: blob.map { [$0] } ?? [],
            of: KeychainLabel(of: keychain)
        )
    }

    /// True: every blob has an index.
    public func isInHardware(_ blob: [UInt8]) -> Bool { true }

    /// Removes the index: the blob cannot be unsealed any more.
    public func destroy(_ blob: [UInt8]) async throws(KeychainError) { try await tpm.destroy(blob, .keybag) }
}
