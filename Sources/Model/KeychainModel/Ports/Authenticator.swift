public import SecretMemory

/// Prompts the user, counts the attempts, and returns proofs.
public protocol Authenticator: Sendable {
    /// Whether a policy could be evaluated now; shows no prompt.
    func availability(of policy: AuthenticationPolicy) async -> AuthenticationAvailability

    /// Prompts for the factors that the evaluation needs; cancelling the task removes the prompt.
    func evaluate(_ evaluation: Evaluation) async throws(AuthenticationError) -> AuthenticationProof

    /// Unlocks the keybag with a prompt for the passcode, unless it is unlocked.
    ///
    /// - Returns: the proof of the passcode, if it was entered.
    func unlock(_ request: PromptRequest) async throws(AuthenticationError) -> AuthenticationProof?

    /// Reads the enrolled fingers and records them in the keybag, before an item is bound to that set.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` and the underlying authentication error if no finger is
    ///   enrolled or the fingers cannot be read; `errSecInteractionNotAllowed` with the cause ``DriverCause/locked``
    ///   before the keybag was first unlocked.
    func observeCurrentSet() async throws(KeychainError)

    /// Creates the keybag: prompts twice for a passcode, checks its strength, and shows the recovery code until it is
    /// typed back.
    func setUp(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the old passcode, then twice for the new one, and changes it.
    func changePasscode(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the passcode and reseals the keybag with the best seal that this machine has.
    ///
    /// - Throws: ``AuthenticationError`` `invalidParameter` if it has that seal already.
    func migrate(_ request: PromptRequest) async throws(AuthenticationError)

    /// Shows a new code for the TPM's lockout until it is typed back, and sets it.
    ///
    /// - Throws: ``AuthenticationError`` `invalidParameter` without a TPM, or if its lockout authorisation is set
    ///   already.
    func protectLockout(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the recovery code, then twice for a new passcode, and opens the keybag with them.
    func recover(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the passcode, shows a new recovery code until it is typed back, and replaces the former one.
    func changeRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the recovery code until it is right; changes nothing.
    ///
    /// - Throws: ``AuthenticationError`` `authenticationFailed` with the cause ``DriverCause/recoveryCode`` after wrong ones.
    func checkRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError)

    /// Has the user confirm it by typing two words, and puts the keychain's files aside.
    func startOver(_ request: PromptRequest) async throws(AuthenticationError)

    /// Prompts for the passcode, regardless of earlier proofs.
    ///
    /// - Returns: a proof of the passcode.
    func confirm(
        _ request: PromptRequest,
        heading: String
    ) async throws(AuthenticationError) -> AuthenticationProof

    /// Prompts for an application password, once or, if it is a new one, twice; checks nothing but its length.
    ///
    /// - Returns: the password, in Unicode's Normalization Form C.
    func applicationPassword(
        _ purpose: ApplicationPasswordPurpose,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> SecretBytes

    /// Locks the keybag and discards every proof: the machine sleeps, the user logs out, or requested it.
    func lock() async

    /// The last time that the user showed each kind of factor at prompts of a program, or, for nil, of any program; the newest
    /// first.
    func lastAuthentications(for program: AccessGroup?) async -> [PastAuthentication]

    /// The state of attempts, lockouts and the sensor, for `status`.
    func status() async -> AuthenticationStatus
}

/// What an application password is asked for.
public enum ApplicationPasswordPurpose: Sendable, Equatable {
    /// To open an item or to use a key.
    case opening
    /// The same again, because the last one typed was wrong.
    case openingAgain
    /// To seal a new item or key.
    case sealing
}

/// An authentication to perform.
public struct Evaluation: Sendable {
    /// The rule to satisfy.
    public enum Target: Sendable, Equatable {
        /// A policy that the app evaluates.
        case policy(AuthenticationPolicy)
        /// The access control of an item, for one operation.
        case accessControl(AccessControl, AccessOperation)
    }

    /// The rule to satisfy.
    public var target: Target
    /// The context that the proof will belong to.
    public var context: ContextID
    /// Where and how to prompt.
    public var request: PromptRequest
    /// How old a proof of the same process may be; clamped to 0 to 300 s.
    public var reuse: Duration

    /// Describes an evaluation.
    public init(target: Target, context: ContextID, request: PromptRequest, reuse: Duration = .zero) {
        self.target = target
        self.context = context
        self.request = request
        self.reuse = reuse
    }
}

/// The requester, the reason, and the place of a prompt.
public struct PromptRequest: Sendable {
    /// The requesting process.
    public var caller: Caller
    /// Where the request came from.
    public var origin: PromptOrigin
    /// The app's reason text.
    public var reason: String
    /// What the app says beside its reason.
    public var details: PromptDetails
    /// The title of the cancel button; nil for the default.
    public var cancelTitle: String?
    /// The titles of the fallback buttons; nil for the default button, empty for none.
    public var fallbackTitles: [String]?
    /// Whether a prompt may be shown at all.
    public var interactionAllowed: Bool
    /// Whether the user lets the program use fingers.
    public var allowsFinger = true
    /// Called for each touch that misses at a prompt of this request, before it ends; nil for nobody.
    ///
    /// Called on the thread that runs the prompt, which must not wait.
    public var onMiss: (@Sendable (MissedTouch) -> Void)?

    /// Describes a request.
    public init(
        caller: Caller,
        origin: PromptOrigin,
        reason: String = "",
        details: PromptDetails = PromptDetails(),
        cancelTitle: String? = nil,
        fallbackTitles: [String]? = nil,
        interactionAllowed: Bool = true
    ) {
        self.caller = caller
        self.origin = origin
        self.reason = reason
        self.details = details
        self.cancelTitle = cancelTitle
        self.fallbackTitles = fallbackTitles
        self.interactionAllowed = interactionAllowed
    }
}

/// Whether a policy could be evaluated.
public struct AuthenticationAvailability: Sendable, Equatable {
    /// Why not; nil if it could.
    public var error: AuthenticationError?
    /// Whether there is a fingerprint sensor, independent of ``error``.
    public var hasSensor: Bool
    /// 32 bytes that change with the enrolled set; nil if it cannot be determined.
    public var domainState: [UInt8]?

    /// Reports availability.
    public init(error: AuthenticationError?, hasSensor: Bool, domainState: [UInt8]?) {
        self.error = error
        self.hasSensor = hasSensor
        self.domainState = domainState
    }
}

/// The state of attempts, lockouts and the sensor.
public struct AuthenticationStatus: Sendable, Equatable {
    /// The sensor's name; nil without one.
    public var sensor: String?
    /// Why the sensor cannot be used; nil if it can.
    public var sensorFault: DriverCause?
    /// The enrolled fingers, by fprintd's names.
    public var fingers: [String]
    /// The basis on which the current set is compared.
    public var binding: Enrolment.Binding?
    /// Fingers that did not match since the last success.
    public var biometryFailures: Int
    /// Whether biometry is locked out until the passcode is entered.
    public var isBiometryLockedOut: Bool
    /// Wrong passcodes since the last correct one.
    public var passcodeFailures: Int
    /// Seconds until the next passcode attempt is allowed; 0 if it is allowed now.
    public var passcodeDelay: Int64
    /// Whether the keybag is closed until the recovery code.
    public var isClosed: Bool
    /// The hardware's fault because of which no passcode can be checked now; nil if there is none.
    public var hardwareFault: DriverCause?
    /// The disk's fault because of which no attempt can be counted, and so none is allowed; nil if there is none.
    public var storeFault: DriverCause?
    /// Whether the saved counts were found to be an older copy since the start; the newer ones stay in force.
    public var isTamperedWith: Bool = false
    /// The known facts about the sensor; empty without one.
    public var sensorFacts = SensorFacts()
    /// Whether there is a sensor, and it is weak.
    public var isSensorWeak: Bool { sensor != nil && sensorFault == nil && sensorFacts.isWeak }

    /// Reports an initial state.
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
