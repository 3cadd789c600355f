/// Why an authentication failed.
///
/// Only ``code`` takes part in `==`; ``cause`` is for the log.
public struct AuthenticationError: Error, Sendable {
    /// A reason that a caller may act on; raw values are those of Apple's `LAError.Code`.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The number that crosses the wire and the public front.
        public let rawValue: Int
        /// Accepts any number: a newer daemon may send reasons this client does not know.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The finger or passcode did not match.
        public static let authenticationFailed = Code(rawValue: -1)
        /// The user cancelled.
        public static let userCancel = Code(rawValue: -2)
        /// The user chose the fallback button.
        public static let userFallback = Code(rawValue: -3)
        /// The system cancelled: suspend, sensor in use or removed, too many prompts waiting, timeout.
        public static let systemCancel = Code(rawValue: -4)
        /// There is no passcode: the keybag was not set up.
        public static let passcodeNotSet = Code(rawValue: -5)
        /// No sensor is usable.
        public static let biometryNotAvailable = Code(rawValue: -6)
        /// No finger is enrolled.
        public static let biometryNotEnrolled = Code(rawValue: -7)
        /// Too many failures, or the passcode is needed; biometry works again once it is entered.
        public static let biometryLockout = Code(rawValue: -8)
        /// The app cancelled: `invalidate()` during evaluation.
        public static let appCancel = Code(rawValue: -9)
        /// The context was already invalidated.
        public static let invalidContext = Code(rawValue: -10)
        /// No companion device; only Apple's systems have one.
        public static let companionNotAvailable = Code(rawValue: -11)
        /// The sensor was unplugged.
        public static let biometryDisconnected = Code(rawValue: -13)
        /// A parameter was wrong (`kLAErrorInvalidParameter` in Apple's source; not public).
        public static let invalidParameter = Code(rawValue: -1001)
        /// A prompt was needed and is not allowed, or cannot be shown anywhere.
        public static let notInteractive = Code(rawValue: -1004)
    }

    /// The reason to act on.
    public let code: Code
    /// What the driver reported, for example `net.reactivated.Fprint.Error.NoSuchDevice`.
    public let cause: DriverCause?
    /// What the user can do.
    public let remedy: Remedy?
    /// For ``Code/userFallback``: the number of the chosen fallback among those that the request named, from 0; nil if it
    /// named none.
    public let fallback: Int?

    /// Creates an error from a reason and, if known, its cause and remedy; for `userFallback` also from the chosen fallback.
    public init(_ code: Code, cause: DriverCause? = nil, remedy: Remedy? = nil, fallback: Int? = nil) {
        self.code = code
        self.cause = cause
        self.remedy = remedy
        self.fallback = fallback
    }

    /// The error of a program for which the user switched fingers off.
    public static let fingersOff = AuthenticationError(
        .biometryNotAvailable,
        cause: DriverCause(.fingersOff),
        remedy: .usePasscode
    )

    /// The error of a sensor with a known hole.
    public static let sensorUnsafe = AuthenticationError(
        .biometryNotAvailable,
        cause: DriverCause(.sensorUnsafe),
        remedy: .usePasscode
    )
}

extension AuthenticationError: Equatable {
    /// Compares codes alone, so that a test can name the error it expects.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
