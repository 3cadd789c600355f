public import KeychainModel
public import SecretMemory

/// Seals a keybag's device secret in the TPM, behind ten guesses of its own.
///
/// Two authorisation values come from the passcode. The first belongs to an NV index of the type PIN-fail: a wrong
/// passcode stops there, is counted there, and does not touch the limit that all users of the chip share. The second
/// belongs to the sealed object, which is under that limit too, so that whoever owns the chip and makes the index
/// anew gains nothing. The index is made with the secret and removed with it; nobody can write it again.
public struct TPMKeySealer: KeySealer {
    private let tpm: TPM
    private let treatsSimulatorAsReal: Bool

    /// Wrong passcodes that a keybag survives.
    public static let attempts: UInt32 = 10

    /// Seals with a chip.
    public init(_ tpm: TPM) {
        self.tpm = tpm
        treatsSimulatorAsReal = false
    }

    /// Seals with a chip, and rates a simulator as if it were one.
    @_spi(Testing)
    public init(_ tpm: TPM, treatsSimulatorAsReal: Bool) {
        self.tpm = tpm
        self.treatsSimulatorAsReal = treatsSimulatorAsReal
    }

    /// What the chip's own properties promise; the same for every blob.
    public func assurance(of blob: [UInt8]?) async -> AssuranceReport {
        do {
            return try await tpm.status().assurance(treatsSimulatorAsReal: treatsSimulatorAsReal)
        } catch {
            if error.cause == .ownerAuthorizationSet {
                return AssuranceReport(.test, reasons: [TPMStatus.ownerReason])
            }
            let cause = error.cause.map { " (\($0.code))" } ?? ""
            return AssuranceReport(.test, reasons: ["The TPM does not answer\(cause)."])
        }
    }

    /// Whether the blob is this chip's: what it is sealed by cannot be bettered here.
    public func isBest(_ blob: [UInt8]) async -> Bool { await tpm.isOwn(blob, .keybag) }

    /// Makes and seals a new secret, with an index of its own.
    ///
    /// - Throws: ``KeychainError`` with `errSecDiskFull` when the chip has no room for another index.
    public func seal(authorization: borrowing SecretBytes) async throws(KeychainError) -> SealedDeviceSecret {
        try await tpm.sealDeviceSecret(authorization)
    }

    /// Brings back the secret of a blob.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong passcode, the same with the cause
    ///   ``DriverCause/exhausted`` when there were too many, `errSecNotAvailable` with ``DriverCause/chipLockout``
    ///   while the chip takes no guesses from anybody, `errSecDecode` with ``DriverCause/otherHardware`` on another
    ///   chip or a cleared one, and with ``DriverCause/missingIndex`` when the index was removed.
    public func unseal(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await tpm.unsealDeviceSecret(blob, authorization)
    }

    /// The wrong passcodes that the blob's PIN index has counted; one command, which is no guess.
    public func countedFailures(of blob: [UInt8]) async throws(KeychainError) -> Int? {
        Int(try await tpm.countedFailures(blob))
    }

    /// Removes the noted PIN indices but for the blob's.
    public func removeLeftovers(keeping blob: [UInt8]?) async {
        await tpm.removeLeftovers([.keybag], keeping: blob.map { [$0] } ?? [])
    }

    /// Removes the index: the blob opens nothing any more.
    public func destroy(_ blob: [UInt8]) async { await tpm.destroy(blob, .keybag) }
}
