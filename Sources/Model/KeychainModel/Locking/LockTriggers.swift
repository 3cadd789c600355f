/// What locks the keychain besides the user's own `lock`: the setting `lock-on`.
public struct LockTriggers: Sendable, Equatable {
    /// `screen`: the user's last unlocked screen is locked, or the last session ends.
    public var screen: Bool
    /// `sleep`: the machine is about to sleep.
    public var sleep: Bool
    /// `lid`: the machine's lid was closed.
    public var lid: Bool
    /// `idle N UNIT`: the time without a request that used an unlocked key; nil for no such limit.
    public var idle: Duration?

    /// Names the triggers; by default screen and sleep.
    public init(screen: Bool = true, sleep: Bool = true, lid: Bool = false, idle: Duration? = nil) {
        self.screen = screen
        self.sleep = sleep
        self.lid = lid
        self.idle = idle
    }

    /// Whether one of them is announced by logind.
    public var needsSessions: Bool { screen || sleep || lid }
}

/// What is going to lock the keychain, for `status`.
public struct LockingStatus: Sendable, Equatable {
    /// What the daemon's settings name.
    public var triggers: LockTriggers
    /// Why logind does not announce locked screens and sleep to the daemon, in words; nil if it does, or they lock nothing.
    public var sessionsFault: String?
    /// The screen saver on the session bus that announces locked screens, by its name there; nil if none does.
    public var screenSaver: String?
    /// The whole seconds that are left of `lock --after`, rounded up; nil if it was not given, or the keychain was locked since.
    public var secondsLeft: Int64?

    /// Reports what locks.
    public init(
        triggers: LockTriggers = LockTriggers(),
        sessionsFault: String? = nil,
        screenSaver: String? = nil,
        secondsLeft: Int64? = nil
    ) {
        self.triggers = triggers
        self.sessionsFault = sessionsFault
        self.screenSaver = screenSaver
        self.secondsLeft = secondsLeft
    }
}
