/// Asks the person at the machine, counts the attempts, and gives a proof.
public protocol Authenticator: Sendable {
    /// Whether a policy could be evaluated now, without a prompt.
    func availability(of policy: AuthenticationPolicy) async -> AuthenticationAvailability

    /// Asks for what the evaluation demands; cancelling the task takes the prompt away.
    func evaluate(_ evaluation: Evaluation) async throws(AuthenticationError) -> AuthenticationProof

    /// Unlocks the keybag: asks for the passcode, unless it is unlocked.
    ///
    /// - Returns: the proof of the passcode, where it was asked for.
    func unlock(_ request: PromptRequest) async throws(AuthenticationError) -> AuthenticationProof?

    /// Looks at the enrolled fingers and has the keybag take note of them: before something is bound to that set.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` and the authentication error underneath when no finger is
    ///   enrolled or the fingers cannot be seen; `errSecInteractionNotAllowed` with the cause ``DriverCause/locked``
    ///   before the keybag was unlocked once.
    func observeCurrentSet() async throws(KeychainError)

    /// Makes the keybag: passcode twice, strength checked, recovery code shown once and typed back.
    func setUp(_ request: PromptRequest) async throws(AuthenticationError)

    /// Asks for the old passcode, then twice for the new one, and changes it.
    func changePasscode(_ request: PromptRequest) async throws(AuthenticationError)

    /// Asks for the passcode and moves the keybag to the best seal that this machine has.
    ///
    /// - Throws: ``AuthenticationError`` `invalidParameter` when it has that seal already.
    func migrate(_ request: PromptRequest) async throws(AuthenticationError)

    /// Shows a new code for the TPM's lockout until it was typed back, and sets it.
    ///
    /// - Throws: ``AuthenticationError`` `invalidParameter` without a TPM, or when its lockout has an owner already.
    func protectLockout(_ request: PromptRequest) async throws(AuthenticationError)

    /// Asks for the recovery code, then twice for a new passcode, and opens the keybag with it.
    func recover(_ request: PromptRequest) async throws(AuthenticationError)

    /// Asks for the passcode, whatever was shown before.
    ///
    /// - Returns: a proof that holds it.
    func confirm(
        _ request: PromptRequest,
        heading: String
    ) async throws(AuthenticationError) -> AuthenticationProof

    /// Locks the keybag and forgets every success; the machine sleeps, the user leaves, or asked for it.
    func lock() async

    /// Attempts, lockouts and the sensor, for `status`.
    func status() async -> AuthenticationStatus
}

/// What an evaluation is for.
public struct Evaluation: Sendable {
    /// What must be met.
    public enum Target: Sendable, Equatable {
        /// A policy that the app evaluates.
        case policy(AuthenticationPolicy)
        /// The access control of an item, for one operation.
        case accessControl(AccessControl, AccessOperation)
    }

    /// What must be met.
    public var target: Target
    /// The context that the proof will belong to.
    public var context: ContextID
    /// Where and how to ask.
    public var request: PromptRequest
    /// How old a success of the same process may be; clamped to 0 s at least and 300 s at most.
    public var reuse: Duration

    /// Describes an evaluation.
    public init(target: Target, context: ContextID, request: PromptRequest, reuse: Duration = .zero) {
        self.target = target
        self.context = context
        self.request = request
        self.reuse = reuse
    }
}

/// Who asks, why, and where the box goes.
public struct PromptRequest: Sendable {
    /// Who asks.
    public var caller: Caller
    /// Where the request came from.
    public var origin: PromptOrigin
    /// The app's words.
    public var reason: String
    /// The title of the cancel button; nil for the usual one.
    public var cancelTitle: String?
    /// The title of the fallback button; nil for the usual one, empty for none.
    public var fallbackTitle: String?
    /// Whether a box may be shown at all.
    public var interactionAllowed: Bool

    /// Describes a request.
    public init(
        caller: Caller,
        origin: PromptOrigin,
        reason: String = "",
        cancelTitle: String? = nil,
        fallbackTitle: String? = nil,
        interactionAllowed: Bool = true
    ) {
        self.caller = caller
        self.origin = origin
        self.reason = reason
        self.cancelTitle = cancelTitle
        self.fallbackTitle = fallbackTitle
        self.interactionAllowed = interactionAllowed
    }
}

/// Whether a policy could be evaluated.
public struct AuthenticationAvailability: Sendable, Equatable {
    /// Why not; nil when it could.
    public var error: AuthenticationError?
    /// Whether there is a fingerprint sensor, whatever ``error`` says.
    public var hasSensor: Bool
    /// 32 bytes that change with the enrolled set; nil when it cannot be told.
    public var domainState: [UInt8]?

    /// Reports availability.
    public init(error: AuthenticationError?, hasSensor: Bool, domainState: [UInt8]?) {
        self.error = error
        self.hasSensor = hasSensor
        self.domainState = domainState
    }
}

/// Attempts, lockouts and the sensor.
public struct AuthenticationStatus: Sendable, Equatable {
    /// The sensor's name; nil without one.
    public var sensor: String?
    /// Why the sensor cannot be used; nil when it can.
    public var sensorFault: DriverCause?
    /// The enrolled fingers, by fprintd's names.
    public var fingers: [String]
    /// What the current set is compared by.
    public var binding: Enrolment.Binding?
    /// Fingers refused since the last success.
    public var biometryFailures: Int
    /// Whether biometry waits for the passcode.
    public var isBiometryLockedOut: Bool
    /// Wrong passcodes since the last right one.
    public var passcodeFailures: Int
    /// Seconds until the next passcode may be tried; 0 when it may.
    public var passcodeDelay: Int64
    /// Whether the keybag is closed until the recovery code.
    public var isClosed: Bool
    /// Why no passcode can be judged now: the hardware's fault; nil when one can.
    public var hardwareFault: DriverCause?
    /// Why no attempt can be counted, and so none made: the disk's fault; nil when one can.
    public var storeFault: DriverCause?
    /// Whether the saved counts were found to be an older copy since the start; those that hold are the newer ones.
    public var isTamperedWith: Bool = false
    /// What is known of the sensor; nothing without one.
    public var sensorFacts = SensorFacts()

    /// Reports nothing seen yet.
    public init(
        sensor: String? = nil,
        sensorFault: DriverCause? = nil,
        fingers: [String] = [],
        binding: Enrolment.Binding? = nil,
        biometryFailures: Int = 0,
        isBiometryLockedOut: Bool = false,
        passcodeFailures: Int = 0,
        passcodeDelay: Int64 = 0,
        isClosed: Bool = false
    ) {
        self.sensor = sensor
        self.sensorFault = sensorFault
        self.fingers = fingers
        self.binding = binding
        self.biometryFailures = biometryFailures
        self.isBiometryLockedOut = isBiometryLockedOut
        self.passcodeFailures = passcodeFailures
        self.passcodeDelay = passcodeDelay
        self.isClosed = isClosed
    }
}
