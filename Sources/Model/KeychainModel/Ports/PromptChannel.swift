/// One terminal session or one display, which the kernel distinguishes from a later one of the same name.
///
/// A prompt can be put on a terminal without a window or on a nested display, where the user cannot see it. A touch
/// alone counts only on a channel on which the passcode was typed before, which a user does only on a visible one.
public struct PromptChannel: Sendable, Hashable {
    /// Compared as a whole; also for the log.
    public let identity: String

    /// Identifies a channel by the kernel's facts about it.
    public init(_ identity: String) { self.identity = identity }
}

/// Where a passcode that was typed on a terminal makes a touch alone count: the setting `trust`.
public enum TerminalTrust: String, Sendable, CaseIterable {
    /// On that terminal, in its session.
    case terminal
    /// On all terminals of the same login, so also on one that a program of that login opened unseen.
    case session

    /// The channel that all terminals of a login share; nil if each has its own.
    ///
    /// - Parameter login: the login's number (`/proc/PID/sessionid`); nil for an unknown one.
    /// - Returns: the channel.
    package func sharedChannel(ofLogin login: UInt32?) -> PromptChannel? {
        guard self == .session, let login else { return nil }
        return PromptChannel("terminals of login \(login)")
    }
}

/// The process at the other end of a connection, as needed for a prompt.
public struct PromptClient: Sendable, Hashable {
    /// Its pid.
    public let process: Int32
    /// When it started, in clock ticks since boot (`/proc/PID/stat`, field 22); 0 when unknown.
    public let start: UInt64

    /// Describes a process.
    public init(process: Int32, start: UInt64) {
        self.process = process
        self.start = start
    }

    /// The process's login, if it is still the same process.
    ///
    /// - Parameter user: whose login it has to be.
    /// - Returns: the kernel's audit session; nil without one, and if the process cannot be identified.
    package func login(of user: UInt32) -> UInt32? {
        guard start > 0, let login = KernelLogin.number(of: process, user: user),
            // Read after the login, which could else be that of a later process with this pid.
            ProcessStat(of: process)?.start == start
        else { return nil }
        return login
    }
}
