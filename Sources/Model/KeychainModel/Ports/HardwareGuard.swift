public import SecretMemory

/// What only hardware can promise beside sealing: counters that never go back, and keys that die with a restart.
///
/// There is none without a TPM.
public protocol HardwareGuard: Sendable {
    /// Makes a 32-octet secret bound to the present value of a counter that is made with it.
    func makeEpoch() async throws(KeychainError) -> SealedDeviceSecret

    /// A new secret of the next value of the same counter; the one of `blob` is dead for good from here on.
    func nextEpoch(after blob: [UInt8]) async throws(KeychainError) -> SealedDeviceSecret

    /// Brings back the secret of an epoch.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` and the cause ``DriverCause/invalidated`` when the
    ///   counter went on or is another one.
    func openEpoch(_ blob: [UInt8]) async throws(KeychainError) -> SecretBytes

    /// Lets go of an epoch's counter; its secret is dead. Never fails.
    func destroyEpoch(_ blob: [UInt8]) async

    /// Makes a counter for the generation of a store.
    ///
    /// - Returns: its name, and its value.
    func makeGeneration() async throws(KeychainError) -> (counter: [UInt8], value: UInt64)

    /// The counter's value.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` and the cause ``DriverCause/otherHardware`` when there is no
    ///   such counter: another chip, or a cleared one.
    func generation(_ counter: [UInt8]) async throws(KeychainError) -> UInt64

    /// Counts on.
    ///
    /// - Returns: the new value.
    func advanceGeneration(_ counter: [UInt8]) async throws(KeychainError) -> UInt64

    /// Lets go of a counter. Never fails.
    func destroyGeneration(_ counter: [UInt8]) async

    /// Lets go of counters that were made for this keychain and are none of these; never fails.
    func removeLeftovers(keeping counters: [[UInt8]]) async

    /// Sets the authorisation that resets the chip's own lockout, where it has none yet.
    ///
    /// - Parameter code: the only copy; whoever loses it can no longer reset a lockout, nor clear the chip from here.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is one already: none is ever tried.
    func setLockoutAuthorization(_ code: borrowing SecretBytes) async throws(KeychainError)

    /// Whether the chip's lockout can be reset by its owner alone.
    func hasLockoutAuthorization() async throws(KeychainError) -> Bool

    /// Puts up to 64 bytes where a restart of the machine destroys them.
    ///
    /// What brings them back is what this returns, with the authorisation: 32 random bytes that stay in locked memory.
    func escrow(
        _ secret: borrowing SecretBytes,
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8]

    /// Brings an escrow's bytes back.
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
    /// The keybag is sealed to hardware, and there is none here.
    public static let missingHardware = DriverCause(.missingHardware)
    /// The hardware is there and does not answer.
    public static let silentHardware = DriverCause(.silentHardware)
    /// What the hardware kept for this keybag was removed from it.
    public static let missingIndex = DriverCause(.missingIndex)
    /// The hardware takes no passcodes for a while, whoever asks.
    public static let chipLockout = DriverCause(.chipLockout)
    /// The chip's owner demands an authorisation, without which nothing is made or opened in it.
    public static let ownerAuthorizationSet = DriverCause(.ownerAuthorizationSet)
    /// The store is an older copy of itself.
    public static let rolledBack = DriverCause(.rolledBack)
    /// The chip refuses passcodes of this keybag for good; the recovery code opens it.
    public static let exhausted = DriverCause(.exhausted)
}
