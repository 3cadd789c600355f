public import SecretMemory

/// Why a keychain operation failed: a status to act on, and its cause for the log.
///
/// Only ``status`` takes part in `==`.
public struct KeychainError: Error, Sendable {
    /// The status to act on.
    public let status: Status
    /// The underlying authentication error, if the operation needed the user.
    public let authentication: AuthenticationError?
    /// The driver's error, for example `sqlite 13` (`SQLITE_FULL`).
    public let cause: DriverCause?
    /// What the user can do.
    public let remedy: Remedy?

    /// Creates an error from a status and, if known, its cause and remedy.
    public init(
        _ status: Status,
        authentication: AuthenticationError? = nil,
        cause: DriverCause? = nil,
        remedy: Remedy? = nil
    ) {
        self.status = status
        self.authentication = authentication
        self.cause = cause ?? authentication?.cause
        self.remedy = remedy ?? authentication?.remedy
    }

    /// Translates an authentication error to Apple's status for it (`ConformanceTests/StatusTests.swift`).
    public init(_ error: AuthenticationError) {
        let status: Status =
            switch error.code {
            case .userCancel: .userCanceled
            case .notInteractive: .interactionNotAllowed
            case .invalidParameter: .param
            default: .authFailed
            }
        self.init(status, authentication: error)
    }
}

extension KeychainError {
    /// `errSecAllocate`: memory for secrets cannot be locked.
    public init(_ error: SecretMemoryError) {
        let cause = DriverCause(
            domain: "system",
            code: "\(SystemError.name(of: error.errno)): RLIMIT_MEMLOCK"
        )
        self.init(.allocate, cause: cause, remedy: .check)
    }
}

extension KeychainError: Equatable {
    /// Compares statuses alone, so that a test can name the error it expects.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.status == rhs.status }
}

/// The error of a driver or library, kept for the log; never contains a secret.
public struct DriverCause: Error, Hashable, Sendable {
    /// The source: `fprintd`, `sqlite`, `assuan`, `system` (errno), `keybag`, `touchstone`.
    public let domain: String
    /// The driver's own code or name, for example `net.reactivated.Fprint.Error.NoSuchDevice`.
    public let code: String

    /// Names the driver and its code.
    public init(domain: String, code: String) {
        self.domain = domain
        self.code = code
    }

    /// The item existed, but its key was destroyed when the enrolled fingers changed.
    public static let invalidated = DriverCause(.invalidated)
    /// The private key was deleted.
    public static let deleted = DriverCause(.deleted)
    /// An item has to be bound to the enrolled fingers, but the keychain has seen none.
    public static let noCurrentSet = DriverCause(.noCurrentSet)
    /// The broker does not reply to the daemon of another account.
    public static let brokerAway = DriverCause(.brokerAway)
    /// The enrolled fingers changed: the passcode is needed.
    public static let enrolmentChanged = DriverCause(.enrolmentChanged)
    /// Stored bytes failed their authentication: the item or the keybag is damaged.
    public static let damaged = DriverCause(.damaged)
    /// The keybag is locked; its passcode opens it.
    public static let locked = DriverCause(.locked)
    /// The item or key needs its application password, and the context has none.
    public static let applicationPasswordMissing = DriverCause(
        domain: "touchstone",
        code: "application password missing"
    )
    /// A new item or key, or a new access control, needs an application password, and the context has none.
    public static let newApplicationPasswordMissing = DriverCause(
        domain: "touchstone",
        code: "new application password missing"
    )
    /// The context's application password is not that of the item or key.
    public static let applicationPasswordWrong = DriverCause(
        domain: "touchstone",
        code: "application password wrong"
    )
    /// The keybag was closed by ten wrong passcodes; the recovery code opens it.
    public static let closed = DriverCause(.closed)
    /// The daemon has reached its limit of connections of this user.
    public static let tooManyConnections = DriverCause(.tooManyConnections)
    /// There is no keybag yet.
    public static let notSetUp = DriverCause(.notSetUp)
    /// There is a keybag already.
    public static let alreadySetUp = DriverCause(.alreadySetUp)
    /// The text typed cannot be a recovery code.
    public static let mistypedRecoveryCode = DriverCause(.mistypedRecoveryCode)
}

/// What the user can do about an error.
public enum Remedy: Hashable, Sendable {
    /// Try again.
    case retry
    /// Enter the passcode instead of the finger.
    case usePasscode
    /// Enrol a finger.
    case enrolFinger
    /// Wait this many seconds, then try again.
    case wait(seconds: Int64)
    /// Set a passcode: create the keybag.
    case setPasscode
    /// Unlock the keybag.
    case unlock
    /// Open the keybag with the recovery code.
    case recover
    /// Run from a terminal or a desktop session.
    case provideTerminal
    /// Run `touchstone doctor` to check the components.
    case check
}
