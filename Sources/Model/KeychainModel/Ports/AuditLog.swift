/// Takes security events; a program writes them, once, structured.
public protocol AuditLog: Sendable {
    /// Records an event.
    func record(_ event: AuditEvent)

    /// Whether events of this kind go anywhere; one that does not need not be described.
    func isHeard(_ kind: AuditEvent.Kind) -> Bool
}

extension AuditLog {
    /// All are heard.
    public func isHeard(_ kind: AuditEvent.Kind) -> Bool { true }
}

/// A security event; holds no secret.
public struct AuditEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable, CaseIterable {
        /// A keybag was made.
        case keybagCreated
        /// A passcode or a finger opened something.
        case authenticationSucceeded
        /// A finger or a passcode was refused.
        case authenticationFailed
        /// The user, the app or the system stopped it.
        case authenticationCancelled
        /// Biometry is off until the passcode.
        case biometryLockedOut
        /// Passcodes are refused for a while.
        case passcodeDelayed
        /// The keybag is closed until the recovery code.
        case keybagClosed
        /// Items were moved to another access group.
        case itemsMoved
        /// The keybag was unlocked.
        case keybagUnlocked
        /// The keybag was locked.
        case keybagLocked
        /// The machine goes to sleep: what was shown before opens nothing afterwards.
        case suspended
        /// The passcode was changed.
        case passcodeChanged
        /// The recovery code was used.
        case keybagRecovered
        /// The enrolled fingers are others than before.
        case enrolmentChanged
        /// Items of an older enrolled set are gone for good.
        case itemsInvalidated
        /// Something stored is not authentic.
        case tamperDetected
        /// Hardware took no key into escrow: the next unlocking needs the passcode.
        case escrowRefused
        /// Hardware did not count the store's generation; the next commit has it try again.
        case generationUncounted
        /// The hardware's lockout has an owner now.
        case lockoutProtected
        /// Signals came from somebody who is not fprintd.
        case forgedSignal
        /// The assurance went down.
        case assuranceLowered
        /// The system bus is away: nobody hears of sleep or of fingers until it is back.
        case busLost
        /// The broker does not answer: programs are not named, and no enrolled set can be told from another one.
        case brokerLost
        /// Something failed that no request waits for.
        case backgroundFailed
        /// A part failed behind a request: the disk, the store, hardware.
        case requestFailed
        /// A client was refused.
        case clientRefused
        /// An item was released, made, changed or deleted.
        case itemAccessed
        /// A private key was made, read or used.
        case keyAccessed
    }

    /// What happened.
    public var kind: Kind
    /// Who asked, where somebody did.
    public var caller: Caller?
    /// What was shown.
    public var factors: Set<AuthenticationFactor>
    /// More, in a few words; never a secret, never text of a client.
    public var detail: String

    /// Describes an event.
    public init(
        _ kind: Kind,
        caller: Caller? = nil,
        factors: Set<AuthenticationFactor> = [],
        detail: String = ""
    ) {
        self.kind = kind
        self.caller = caller
        self.factors = factors
        self.detail = detail
    }
}
