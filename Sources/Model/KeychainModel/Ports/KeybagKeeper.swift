public import SecretMemory

/// Holds the keybag: makes it, opens it, locks it.
///
/// Unlocking is decrypting; nothing is compared.
public protocol KeybagKeeper: Sendable {
    /// Where the keybag stands.
    func state() async -> KeybagState

    /// How strong its protection is, and why.
    func assurance() async -> AssuranceReport

    /// A new recovery code as text: 28 symbols of Crockford's base 32 in groups of four, 128 random bits.
    func makeRecoveryCode() throws(KeychainError) -> SecretBytes

    /// Makes the keybag, durably, and leaves it unlocked.
    ///
    /// - Parameters:
    ///   - passcode: opens it.
    ///   - recoveryCode: opens it too.
    ///   - enrolled: the fingers that are enrolled now; nil when they cannot be seen.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when there is one.
    func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment?
    ) async throws(KeychainError)

    /// Opens the keybag with a passcode; the caller has counted the attempt.
    ///
    /// - Throws: ``KeychainError`` `errSecDecode` for a damaged keybag, `errSecNotAvailable` before set-up.
    func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening

    /// How many wrong passcodes hardware has counted since the last right one; nil where none counts.
    ///
    /// - Throws: ``KeychainError`` when the hardware does not answer, was cleared, or is another: then no passcode can be
    ///   judged, and none should be asked for.
    func countedPasscodeFailures() async throws(KeychainError) -> Int?

    /// Whether a finger can unlock a locked keybag: hardware holds its key since the passcode was shown, and
    /// loses it when the machine restarts. Never without hardware.
    func holdsEscrow() async -> Bool

    /// Unlocks a locked keybag with a proof of biometry, out of the escrow.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for another proof or without an escrow.
    func open(with proof: AuthenticationProof) async throws(KeychainError)

    /// Lets go of the escrow: biometry is locked out, or the passcode is due.
    func forgetEscrow() async

    /// Wipes the keys that must not outlive a lock; never fails.
    func lock() async

    /// Has the next right passcode move the keybag to the best seal that this machine has, all or nothing.
    ///
    /// - Throws: ``KeychainError`` with `errSecParam` when it has that seal already.
    func migrateAtNextOpening() async throws(KeychainError)

    /// Whether the hardware's lockout could be given an owner: it is there, and has none yet.
    func canProtectLockout() async throws(KeychainError) -> Bool

    /// Gives the hardware's lockout an owner: whoever knows the code.
    ///
    /// - Throws: ``KeychainError`` with `errSecUnimplemented` without hardware, `errSecDuplicateItem` when it has one.
    func protectLockout(with code: borrowing SecretBytes) async throws(KeychainError)

    /// Takes ``migrateAtNextOpening()`` back; nothing to do after it happened.
    func abandonMigration() async

    /// Puts a new passcode in the place of the old one, all or nothing; the keybag must be unlocked and the
    /// proof must hold the passcode.
    func changePasscode(
        to passcode: consuming SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError)

    /// Opens the keybag with its recovery code and puts a new passcode in place; the old one opens nothing
    /// any more.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` for a wrong code.
    func recover(
        code: borrowing SecretBytes,
        newPasscode: consuming SecretBytes
    ) async throws(KeychainError)

    /// Whether a text is this keybag's recovery code, before a new passcode is asked for.
    func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool

    /// Takes note of the enrolled fingers: when the set is another, or the first that was ever seen, the key of the
    /// old set is destroyed for good and its items are invalidated. The keybag must have been unlocked once.
    ///
    /// A set whose templates cannot be told now changes nothing: what is bound to a set is refused until it can be. A set
    /// that was known by its names takes over the templates that are told first, while the names are the same.
    ///
    /// - Returns: the domain state of the set and whether it changed; the first set that is seen is a change too.
    func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation
}

extension KeybagKeeper {
    /// None, without hardware.
    public func countedPasscodeFailures() async throws(KeychainError) -> Int? { nil }
}

/// Where a keybag stands.
public enum KeybagState: UInt8, Sendable, CaseIterable {
    /// There is none.
    case notSetUp = 0
    /// No key is in memory: the passcode is needed, a finger is not enough.
    case locked = 1
    /// Locked again: keys of after-first-unlock items and of attributes are in memory.
    case lockedAfterFirstUnlock = 2
    /// All class keys are in memory.
    case unlocked = 3
    /// Its file cannot be read or is not authentic.
    case damaged = 4
}

/// What a passcode did.
public enum PasscodeOpening: Sendable {
    /// It opened the keybag; the key opens items constrained to the passcode.
    case opened(PasscodeKey)
    /// It opened nothing.
    case wrong
}

/// How strong a keybag is, and the reasons in words for a person.
public struct AssuranceReport: Sendable, Equatable {
    /// The level.
    public let assurance: Assurance
    /// Short sentences, most important first.
    public let reasons: [String]

    /// Reports a level and why.
    public init(_ assurance: Assurance, reasons: [String]) {
        self.assurance = assurance
        self.reasons = reasons
    }
}

/// What was seen of the enrolled fingers.
public struct EnrolmentObservation: Sendable, Equatable {
    /// 32 bytes that are the same as long as the set is (`evaluatedPolicyDomainState`); nil while that cannot be told.
    public let domainState: [UInt8]?
    /// Whether the set is another one than at the last observation, or there was none.
    public let changed: Bool
    /// What the comparison could see.
    public let binding: Enrolment.Binding

    /// Reports an observation.
    public init(domainState: [UInt8]?, changed: Bool, binding: Enrolment.Binding) {
        self.domainState = domainState
        self.changed = changed
        self.binding = binding
    }
}
