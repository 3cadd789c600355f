public import SecretMemory

/// Keeps the keybag: creates, opens and locks it.
///
/// Unlocking is decryption; no passcode is compared.
public protocol KeybagKeeper: Sendable {
    /// The state of the keybag.
    func state() async -> KeybagState

    /// The strength of its protection, with reasons.
    func assurance() async -> AssuranceReport

    /// A new recovery code as text: 28 symbols of Crockford's base 32 in groups of four, 128 random bits.
    func makeRecoveryCode() throws(KeychainError) -> SecretBytes

    /// Creates the keybag durably and leaves it unlocked.
    ///
    /// - Parameters:
    ///   - passcode: opens it.
    ///   - recoveryCode: opens it too.
    ///   - enrolled: the fingers enrolled now; nil if they cannot be read.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if there is one already.
    func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError)

    /// Opens the keybag with a passcode; the caller has counted the attempt.
    ///
    /// - Throws: ``KeychainError`` `errSecDecode` for a damaged keybag, `errSecNotAvailable` before set-up.
    func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening

    /// The wrong passcodes that hardware has counted since the last correct one; nil without such a counter.
    ///
    /// - Throws: ``KeychainError`` if the hardware does not respond, was cleared, or is another one: then no passcode
    ///   can be checked, and none should be prompted for.
    func countedPasscodeFailures() async throws(KeychainError) -> Int?

    /// Whether a finger can unlock a locked keybag, because hardware holds its key in escrow.
    ///
    /// The escrow exists from a passcode entry until the machine restarts. Always false without hardware.
    func holdsEscrow() async -> Bool

    /// Unlocks a locked keybag with a proof of biometry, from the escrow.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for another proof or without an escrow.
    func open(with proof: AuthenticationProof) async throws(KeychainError)

    /// Discards the escrow: biometry is locked out, or the passcode is needed.
    func forgetEscrow() async

    /// Wipes the keys that must not outlive a lock; never fails.
    func lock() async

    /// Makes the next correct passcode reseal the keybag with the best seal that this machine has, atomically.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` if it has that seal already.
    func migrateAtNextOpening() async throws(KeychainError)

    /// Whether the hardware's lockout authorisation can be set: the hardware is present, and it is still empty.
    func canProtectLockout() async throws(KeychainError) -> Bool

    /// Sets the hardware's lockout authorisation to a code.
    ///
    /// - Throws: ``KeychainError`` with `errSecUnimplemented` without hardware, `errSecDuplicateItem` if it is set
    ///   already.
    func protectLockout(with code: borrowing SecretBytes) async throws(KeychainError)

    /// Cancels ``migrateAtNextOpening()``; has no effect once the keybag was resealed.
    func abandonMigration() async

    /// Replaces the passcode atomically; the keybag must be unlocked and the proof must include the passcode.
    func changePasscode(
        to passcode: consuming SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError)

    /// Replaces the recovery code atomically; the keybag must be unlocked and the proof must include the passcode.
    ///
    /// The former code opens nothing of this keybag then, only what was written before: exports, and copies of its files.
    func changeRecoveryCode(
        to code: borrowing SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError)

    /// Opens the keybag with its recovery code and sets a new passcode; the old one becomes invalid.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code.
    func recover(
        code: borrowing SecretBytes,
        newPasscode: consuming SecretBytes
    ) async throws(KeychainError)

    /// Whether a damaged keybag may be opened by its recovery code, because something of it can be read.
    func isRecoverable() async -> Bool

    /// Puts all files of the keychain aside, so that another one can be created; removes nothing.
    ///
    /// - Returns: the name of their directory; nil if there were none.
    func startOver() async throws(KeychainError) -> String?

    /// Checks a recovery code, before a new passcode is prompted for.
    func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool

    /// Records the enrolled fingers; a change of the set destroys the old set's key for good and invalidates its
    /// items.
    ///
    /// The first set that is recorded counts as a change. The keybag must have been unlocked once.
    ///
    /// A set whose templates cannot be determined now changes nothing: items bound to a set are refused until they
    /// can be. A set known by its names adopts the first templates that are determined while the names are unchanged.
    ///
    /// - Returns: the domain state of the set and whether it changed, which it did for the first set too.
    func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation

    /// Looks for items that differ from their last stored state; with `accepting`, makes the intact ones the current
    /// state.
    ///
    /// The proof must include the passcode.
    func repair(proof: AuthenticationProof, accepting: Bool) async throws(KeychainError) -> StoreRepair
}

extension KeybagKeeper {
    /// True.
    public func isRecoverable() async -> Bool { true }

    /// Nil: there is no hardware.
    public func countedPasscodeFailures() async throws(KeychainError) -> Int? { nil }
}

/// The state of a keybag.
public enum KeybagState: UInt8, Sendable, CaseIterable {
    /// There is no keybag.
    case notSetUp = 0
    /// No key is in memory: the passcode is needed, a finger does not suffice.
    case locked = 1
    /// Locked again: the keys of after-first-unlock items and of attributes are in memory.
    case lockedAfterFirstUnlock = 2
    /// All class keys are in memory.
    case unlocked = 3
    /// Its file cannot be read or is not authentic.
    case damaged = 4
}

/// The result of a passcode.
public enum PasscodeOpening: Sendable {
    /// It opened the keybag; the key opens items constrained to the passcode.
    case opened(PasscodeKey)
    /// It did not open the keybag.
    case wrong
}

/// The strength of a keybag, with the reasons in words for a user.
public struct AssuranceReport: Sendable, Equatable {
    /// The level.
    public let assurance: Assurance
    /// Short sentences, most important first.
    public let reasons: [String]
    /// The chip that the keybag is sealed to; nil without one, and while it does not answer.
    public let chip: ChipVersion?

    /// Reports a level, its reasons, and the chip.
    public init(_ assurance: Assurance, reasons: [String], chip: ChipVersion? = nil) {
        self.assurance = assurance
        self.reasons = reasons
        self.chip = chip
    }
}

/// A TPM's maker and version, as the chip reports them.
public struct ChipVersion: Sendable, Equatable {
    /// The manufacturer, in the TCG's list of vendors.
    public let manufacturer: String
    /// The manufacturer's own name for the chip.
    public let model: String
    /// The version of its firmware, such as `7.85.4555.0`.
    public let firmware: String

    /// Describes a chip.
    public init(manufacturer: String, model: String, firmware: String) {
        self.manufacturer = manufacturer
        self.model = model
        self.firmware = firmware
    }
}

/// An observation of the enrolled fingers.
public struct EnrolmentObservation: Sendable, Equatable {
    /// 32 bytes that stay the same while the set does (`evaluatedPolicyDomainState`); nil while they cannot be
    /// determined.
    public let domainState: [UInt8]?
    /// Whether the set differs from the last observation, or is the first one.
    public let changed: Bool
    /// The basis of the comparison.
    public let binding: Enrolment.Binding

    /// Reports an observation.
    public init(domainState: [UInt8]?, changed: Bool, binding: Enrolment.Binding) {
        self.domainState = domainState
        self.changed = changed
        self.binding = binding
    }
}
