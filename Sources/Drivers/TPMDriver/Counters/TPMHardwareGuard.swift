public import KeychainModel
public import SecretMemory

/// Counters in the TPM that never go back, and secrets that a restart destroys.
///
/// A counter that is deleted and created again starts above every value the chip ever deleted, so that a secret
/// sealed to an earlier value stays sealed for good.
public struct TPMHardwareGuard: HardwareGuard {
    private let tpm: TPM

    /// Uses a chip.
    public init(_ tpm: TPM) { self.tpm = tpm }

    /// Creates a counter and a secret sealed to its first value.
    public func makeEpoch(for keychain: [UInt8]) async throws(KeychainError) -> SealedDeviceSecret {
        try await tpm.makeEpoch(for: KeychainLabel(of: keychain))
    }

    /// Increments the counter and creates a secret sealed to the new value.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` and the cause ``DriverCause/invalidated`` if the counter
    ///   is gone.
    public func nextEpoch(after blob: [UInt8]) async throws(KeychainError) -> SealedDeviceSecret {
        try await tpm.nextEpoch(after: blob)
    }

    /// Unseals a secret while its counter still has the value it was sealed to.
    public func openEpoch(_ blob: [UInt8]) async throws(KeychainError) -> SecretBytes {
        try await tpm.openEpoch(blob)
    }

    /// Removes the counter of an epoch.
    public func destroyEpoch(_ blob: [UInt8]) async throws(KeychainError) {
        try await tpm.destroy(blob, .epoch)
    }

    /// Creates a counter.
    public func makeGeneration(
        for keychain: [UInt8]
    ) async throws(KeychainError) -> (counter: [UInt8], value: UInt64) {
        try await tpm.makeGeneration(for: KeychainLabel(of: keychain))
    }

    /// Reads a counter; one command.
    public func generation(_ counter: [UInt8]) async throws(KeychainError) -> UInt64 {
        try await tpm.generation(counter)
    }

    /// Increments a counter by one, even if the connection is lost meanwhile.
    public func advanceGeneration(_ counter: [UInt8]) async throws(KeychainError) -> UInt64 {
        try await tpm.advanceGeneration(counter)
    }

    /// Removes a counter.
    public func destroyGeneration(_ counter: [UInt8]) async throws(KeychainError) {
        try await tpm.destroy(counter, .generation)
    }

    /// Removes the keychain's counters and marks, labelled or noted, except the given ones.
    public func removeLeftovers(
        keeping counters: [[UInt8]],
        of keychain: [UInt8]
    ) async throws(KeychainError) {
        try await tpm.removeLeftovers(
            [.epoch, .generation, .mark],
            keeping: counters,
            of: KeychainLabel(of: keychain)
        )
    }

    /// Looks through this program's indices.
    public func mark(of keychain: [UInt8]) async throws(KeychainError) -> [UInt8]? {
        try await tpm.mark(of: KeychainLabel(of: keychain))
    }

    /// Creates the mark, if there is none.
    public func makeMark(of keychain: [UInt8]) async throws(KeychainError) -> [UInt8] {
        try await tpm.makeMark(of: KeychainLabel(of: keychain))
    }

    /// Removes a mark.
    public func destroyMark(_ mark: [UInt8]) async throws(KeychainError) {
        try await tpm.destroy(mark, .mark)
    }

    /// Sets the lockout authorisation; never sends a guess.
    public func setLockoutAuthorization(_ code: borrowing SecretBytes) async throws(KeychainError) {
        try await tpm.setLockoutAuthorization(code)
    }

    /// Whether the lockout authorisation is set.
    public func hasLockoutAuthorization() async throws(KeychainError) -> Bool {
        try await tpm.status().lockoutAuthSet
    }

    /// Seals bytes in the NULL hierarchy, whose seed every restart replaces.
    ///
    /// - Throws: ``KeychainError`` with `errSecDataTooLarge` for more than 64 bytes.
    public func escrow(
        _ secret: borrowing SecretBytes,
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8] {
        guard secret.count <= 64 else { throw KeychainError(.dataTooLarge) }
        return try await tpm.escrow(secret, authorization)
    }

    /// Unseals an escrow's bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` and the cause ``DriverCause/restarted`` after a restart,
    ///   `errSecAuthFailed` for another authorisation.
    public func openEscrow(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        try await tpm.openEscrow(blob, authorization)
    }
}
