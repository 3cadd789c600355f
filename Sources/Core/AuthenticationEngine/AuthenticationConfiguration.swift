public import KeychainModel

/// The limits and timeouts of an engine; the defaults are the documented values.
public struct AuthenticationConfiguration: Sendable {
    /// How long a prompt with an entry field stays.
    public var promptTimeout: Duration = .seconds(120)
    /// How long a prompt that only waits for a finger stays; also the longest wait for a silent sensor.
    public var biometryTimeout: Duration = .seconds(30)
    /// A touch counts only after the prompt was visible for this long: the sensor is armed no earlier.
    public var settlingTime: Duration = .milliseconds(500)
    /// How long a prompt for a finger or the passcode is held back while the enrolled fingers are read.
    ///
    /// That takes up to 10 s if fprintd hangs. A prompt that was not held back any longer takes a finger once they were read.
    public var lookPatience: Duration = .seconds(1)
    /// How long an answer that needs no prompt waits for fprintd, which may have to be started first; ``lookPatience`` while an
    /// earlier reading has waited this long without a reply.
    public var sensorPatience: Duration = .seconds(3)
    /// Requests of one user that may wait for their prompt; further requests are refused at once.
    public var waitingPerUser = 8
    /// Prompts of one user that may end without success within ``promptRatePeriod``.
    public var unsuccessfulPrompts = 6
    /// Consecutive prompts of one program that the user may cancel before the program is silenced for
    /// ``promptRatePeriod``.
    public var cancelledPrompts = 3
    /// The period over which ``unsuccessfulPrompts`` are counted.
    public var promptRatePeriod: Duration = .seconds(60)
    /// Poor scans tolerated in one evaluation.
    public var retryScans = 20
    /// The user's name, which must not make up a passcode.
    public var userName: String?
    /// Whether the keybag is locked too when the machine is about to sleep.
    public var locksKeybagOnSuspend = false

    /// Creates the default configuration.
    public init() {}
}

extension DriverCause {
    /// The prompt was not answered in time.
    public static let timeout = DriverCause(.timeout)
    /// Too many requests of this user are waiting for a prompt.
    public static let tooManyPrompts = DriverCause(.tooManyPrompts)
    /// Too many prompts of this user ended without success within a minute.
    public static let promptRate = DriverCause(.promptRate)
    /// The user cancelled several consecutive prompts of the program: it gets no prompt for a while.
    public static let callerSilenced = DriverCause(.callerSilenced)
    /// The delay after wrong passcodes is still running.
    public static let passcodeDelayed = DriverCause(.passcodeDelayed)
    /// The passcode is required: the last entry is too long ago, or the keybag is locked.
    public static let passcodeDue = DriverCause(.passcodeDue)
    /// The machine is about to sleep.
    public static let suspended = DriverCause(.suspended)
    /// Another session is active on the seat where the prompt would be shown.
    public static let sessionInactive = DriverCause(.sessionInactive)
    /// The counts of failed attempts could not be read or saved: no attempt is allowed.
    public static let attemptsUnavailable = DriverCause(.attemptsUnavailable)
    /// The typed text is not the recovery code.
    public static let recoveryCode = DriverCause(.recoveryCode)
}
