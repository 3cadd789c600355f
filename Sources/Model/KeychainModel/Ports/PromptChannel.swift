/// One terminal session or one display, as the kernel tells it apart from a later one of the same name.
///
/// A box that nobody sees can be put on a terminal in no window, or on a nested display. A touch alone counts only on
/// a channel on which the passcode was typed, which nobody does on one that cannot be seen.
public struct PromptChannel: Sendable, Hashable {
    /// Compared whole; for the log too.
    public let identity: String

    /// Names a channel by what the kernel says of it.
    public init(_ identity: String) { self.identity = identity }
}

/// The process at the other end of a connection, as a prompt needs it.
public struct PromptClient: Sendable, Hashable {
    /// Its number.
    public let process: Int32
    /// When it started, in clock ticks since boot (`/proc/PID/stat`, field 22); 0 when unknown.
    public let start: UInt64

    /// Names a process.
    public init(process: Int32, start: UInt64) {
        self.process = process
        self.start = start
    }
}
