public import KeychainModel

/// The figures an engine works with; the usual ones are those the design promises.
public struct AuthenticationConfiguration: Sendable {
    /// How long a box with a field stays.
    public var promptTimeout: Duration = .seconds(120)
    /// How long a box that only waits for a finger stays; also the longest wait for a silent sensor.
    public var biometryTimeout: Duration = .seconds(30)
    /// A touch counts only when the box was visible this long: the sensor is armed no earlier.
    public var settlingTime: Duration = .milliseconds(500)
    /// Requests of one user that may wait for their box; the rest is refused at once.
    public var waitingPerUser = 8
    /// Boxes of one user that may end without success within ``promptRatePeriod``.
    public var unsuccessfulPrompts = 6
    /// Boxes of one program that the user cancels one after the other before it is silenced for
    /// ``promptRatePeriod``.
    public var cancelledPrompts = 3
    /// The time ``unsuccessfulPrompts`` is counted over.
    public var promptRatePeriod: Duration = .seconds(60)
    /// Poor pictures that one evaluation puts up with.
    public var retryScans = 20
    /// The user's name, which a passcode must not be made of.
    public var userName: String?
    /// Whether the keybag is locked too when the machine is about to sleep.
    public var locksKeybagOnSuspend = false

    /// The usual figures.
    public init() {}
}

extension DriverCause {
    /// Nobody answered in time.
    public static let timeout = DriverCause(.timeout)
    /// Too many requests of this user wait for their box.
    public static let tooManyPrompts = DriverCause(.tooManyPrompts)
    /// Too many boxes of this user ended without success within a minute.
    public static let promptRate = DriverCause(.promptRate)
    /// The user cancelled the program's boxes one after the other: it gets none for a while.
    public static let callerSilenced = DriverCause(.callerSilenced)
    /// The delay after wrong passcodes is still running.
    public static let passcodeDelayed = DriverCause(.passcodeDelayed)
    /// The passcode is due: too long ago, or the keybag is locked.
    public static let passcodeDue = DriverCause(.passcodeDue)
    /// The machine is about to sleep.
    public static let suspended = DriverCause(.suspended)
    /// The counts of failed attempts could not be read or saved: nothing may be tried.
    public static let attemptsUnavailable = DriverCause(.attemptsUnavailable)
    /// What was typed is not the recovery code.
    public static let recoveryCode = DriverCause(.recoveryCode)
}
