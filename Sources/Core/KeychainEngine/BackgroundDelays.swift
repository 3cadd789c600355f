/// When an engine does what nobody waits for.
public struct BackgroundDelays: Sendable {
    /// For how long no change must have come before the log of changes is brought into the file, and the disk gets back what
    /// deletions left free.
    public let idle: Duration
    /// How long the first requests after an unlock have the engine to themselves, before all items are looked through.
    public let sweep: Duration

    /// The delays of a daemon, unless others are given.
    public init(idle: Duration = .seconds(10), sweep: Duration = .seconds(2)) {
        self.idle = idle
        self.sweep = sweep
    }
}
