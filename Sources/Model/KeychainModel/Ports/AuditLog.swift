/// A sink for security events; each program writes them once, in structured form.
public protocol AuditLog: Sendable {
    /// Records an event.
    func record(_ event: AuditEvent)

    /// Whether events of this kind are recorded; the caller need not build others.
    func isHeard(_ kind: AuditEvent.Kind) -> Bool
}

extension AuditLog {
    /// True for every kind.
    public func isHeard(_ kind: AuditEvent.Kind) -> Bool { true }
}

/// A security event; contains no secret.
public struct AuditEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable, CaseIterable {
        /// A keybag was created.
        case keybagCreated = "keybagCreated"
        /// A passcode or a finger authorised an operation.
        case authenticationSucceeded = "authenticationSucceeded"
        /// A finger or a passcode was refused.
        case authenticationFailed = "authenticationFailed"
        /// The user, the app or the system cancelled an authentication.
        case authenticationCancelled = "authenticationCancelled"
        /// Biometry is locked out until the passcode is entered.
        case biometryLockedOut = "biometryLockedOut"
        /// Passcodes are refused for a while.
        case passcodeDelayed = "passcodeDelayed"
        /// The keybag is closed until the recovery code.
        case keybagClosed = "keybagClosed"
        /// Items were moved to another access group.
        case itemsMoved = "itemsMoved"
        /// Fingers were switched off or on for a program.
        case fingersSwitched = "fingersSwitched"
        /// The protection against theft, or a trusted place, was changed.
        case protectionChanged = "protectionChanged"
        /// A change of credentials has to wait.
        case changeDelayed = "changeDelayed"
        /// The keybag was unlocked.
        case keybagUnlocked = "keybagUnlocked"
        /// The keybag was locked.
        case keybagLocked = "keybagLocked"
        /// The machine is about to sleep: earlier proofs are void afterwards.
        case suspended = "suspended"
        /// The passcode was changed.
        case passcodeChanged = "passcodeChanged"
        /// The recovery code was replaced.
        case recoveryCodeChanged = "recoveryCodeChanged"
        /// The recovery code was used.
        case keybagRecovered = "keybagRecovered"
        /// A backup was written.
        case keychainBackedUp = "keychainBackedUp"
        /// The keychain's files were put aside.
        case keybagPutAside = "keybagPutAside"
        /// The enrolled fingers changed.
        case enrolmentChanged = "enrolmentChanged"
        /// Items of an earlier enrolled set are lost for good.
        case itemsInvalidated = "itemsInvalidated"
        /// Stored data is not authentic.
        case tamperDetected = "tamperDetected"
        /// The hardware refused to escrow a key: the next unlock needs the passcode.
        case escrowRefused = "escrowRefused"
        /// The hardware failed to count the store's generation, which is tried again.
        case generationUncounted = "generationUncounted"
        /// The hardware counted what it had failed to count.
        case generationCounted = "generationCounted"
        /// The hardware did not remove the seal of a former passcode, which is tried again.
        case formerSealKept = "formerSealKept"
        /// The hardware removed the seals of former passcodes that it had not removed before.
        case formerSealRemoved = "formerSealRemoved"
        /// The hardware's lockout authorisation was set.
        case lockoutProtected = "lockoutProtected"
        /// Another sender than fprintd sent its signals.
        case forgedSignal = "forgedSignal"
        /// The assurance decreased.
        case assuranceLowered = "assuranceLowered"
        /// The connection to the system bus was lost: sleep and enrolments go unnoticed until it is back.
        case busLost = "busLost"
        /// The broker does not reply: programs cannot be identified, and enrolled sets cannot be compared.
        case brokerLost = "brokerLost"
        /// An operation failed that no request waits for.
        case backgroundFailed = "backgroundFailed"
        /// A component failed during a request: the disk, the store or hardware.
        case requestFailed = "requestFailed"
        /// A client was refused.
        case clientRefused = "clientRefused"
        /// An item was read, created, changed or deleted.
        case itemAccessed = "itemAccessed"
        /// A private key was created, read or used.
        case keyAccessed
        /// A key that every program of the user may use signed, for what the detail says.
        case namedKeyUsed = "namedKeyUsed"
    }

    /// What happened.
    public var kind: Kind
    /// The caller whose request led to it, if there is one.
    public var caller: Caller?
    /// The factors that were shown.
    public var factors: Set<AuthenticationFactor>
    /// Details in a few words; never a secret, never a client's text.
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
