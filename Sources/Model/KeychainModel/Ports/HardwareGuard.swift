public import SecretMemory

/// What only hardware can guarantee besides sealing: counters that never go back, and keys that a restart destroys.
///
/// Without a TPM there is no such guard.
public protocol HardwareGuard: Sendable {
    /// Creates a 32-byte secret bound to the current value of a new counter.
    ///
    /// - Parameter keychain: the keychain's permanent identifier, by which ``removeLeftovers(keeping:of:)`` finds the
    ///   counter.
    /// - Returns: the secret and its blob.
    /// - Throws: ``KeychainError`` if the hardware refused.
    func makeEpoch(for keychain: [UInt8]) async throws(KeychainError) -> SealedDeviceSecret

    /// Creates a secret for the next value of the same counter; the secret of `blob` can never be opened again.
    func nextEpoch(after blob: [UInt8]) async throws(KeychainError) -> SealedDeviceSecret

    /// Opens the secret of an epoch.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` and the cause ``DriverCause/invalidated`` if the counter
    ///   advanced or was replaced.
    func openEpoch(_ blob: [UInt8]) async throws(KeychainError) -> SecretBytes

    /// Removes an epoch's counter, if it is still there; its secret can never be opened again.
    ///
    /// - Throws: ``KeychainError`` if the counter may still be there.
    func destroyEpoch(_ blob: [UInt8]) async throws(KeychainError)

    /// Creates a counter for the generation of a store.
    ///
    /// - Parameter keychain: the keychain's permanent identifier.
    /// - Returns: the counter's identifier, and its value.
    /// - Throws: ``KeychainError`` if the hardware refused.
    func makeGeneration(
        for keychain: [UInt8]
    ) async throws(KeychainError) -> (counter: [UInt8], value: UInt64)

    /// The counter's value.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` and the cause ``DriverCause/otherHardware`` if there is no
    ///   such counter: another chip, or a cleared one.
    func generation(_ counter: [UInt8]) async throws(KeychainError) -> UInt64

    /// Increments a counter.
    ///
    /// - Returns: the new value.
    func advanceGeneration(_ counter: [UInt8]) async throws(KeychainError) -> UInt64

    /// Removes a counter, if it is still there.
    ///
    /// - Throws: ``KeychainError`` if it may still be there.
    func destroyGeneration(_ counter: [UInt8]) async throws(KeychainError)

    /// Removes counters and marks that were created for a keychain, except these.
    ///
    /// - Throws: ``KeychainError`` if some may be left.
    func removeLeftovers(keeping counters: [[UInt8]], of keychain: [UInt8]) async throws(KeychainError)

    /// The mark by which the hardware knows a keychain: made once a keybag that names its counters is durable.
    ///
    /// - Parameter keychain: the keychain's permanent identifier.
    /// - Returns: the mark; nil if the hardware does not know the keychain.
    /// - Throws: ``KeychainError`` if the hardware does not answer.
    func mark(of keychain: [UInt8]) async throws(KeychainError) -> [UInt8]?

    /// Makes the hardware know a keychain, so that a record which tells otherwise is refused.
    ///
    /// - Returns: the mark, which may have been there already.
    /// - Throws: ``KeychainError`` if the hardware does not answer or has no room.
    func makeMark(of keychain: [UInt8]) async throws(KeychainError) -> [UInt8]

    /// Removes a mark, if it is still there.
    ///
    /// - Throws: ``KeychainError`` if it may still be there.
    func destroyMark(_ mark: [UInt8]) async throws(KeychainError)

    /// Sets the authorisation that resets the chip's own lockout, if it is still empty.
    ///
    /// - Parameter code: the only copy; without it the lockout cannot be reset, nor the chip cleared from here.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if it is set already: no guess is ever sent.
    func setLockoutAuthorization(_ code: borrowing SecretBytes) async throws(KeychainError)

    /// Whether only the owner of the authorisation can reset the chip's lockout.
    func hasLockoutAuthorization() async throws(KeychainError) -> Bool

    /// Stores up to 64 bytes so that a restart of the machine destroys them.
    ///
    /// Opening them needs the returned blob and the authorisation: 32 random bytes that stay in locked memory.
    func escrow(
        _ secret: borrowing SecretBytes,
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8]

    /// Returns an escrow's bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` after a restart.
    func openEscrow(
        _ blob: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes
}

extension DriverCause {
    /// The keybag belongs to another chip, or the chip was cleared since.
    public static let otherHardware = DriverCause(.otherHardware)
    /// The keybag is sealed to hardware that this machine does not have.
    public static let missingHardware = DriverCause(.missingHardware)
    /// The hardware is present but does not respond.
    public static let silentHardware = DriverCause(.silentHardware)
    /// This keybag's index was removed from the hardware.
    public static let missingIndex = DriverCause(.missingIndex)
    /// The hardware accepts no passcodes for a while, from any caller.
    public static let chipLockout = DriverCause(.chipLockout)
    /// The chip's owner authorisation is set, and without it nothing can be created or opened in the chip.
    public static let ownerAuthorizationSet = DriverCause(.ownerAuthorizationSet)
    /// The keybag is an older copy of itself.
    public static let olderKeybag = DriverCause(.olderKeybag)
    /// The store is an older copy of itself.
    public static let rolledBack = DriverCause(.rolledBack)
    /// The chip permanently refuses passcodes of this keybag; the recovery code opens it.
    public static let exhausted = DriverCause(.exhausted)
}
