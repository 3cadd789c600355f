/// When an engine does what nobody waits for.
public struct BackgroundDelays: Sendable {
    /// For how long no change must have come before the log of changes is brought into the file, and the disk gets back what
    /// deletions left free.
    public var idle: Duration
    /// How long the first requests after an unlock have the engine to themselves, before all items are looked through.
    public var sweep: Duration
    /// How long a deleted record may stay in the log: one emptying then serves many deletions.
    public var purge: Duration

    /// The delays of a daemon, unless others are given.
    public init(
        idle: Duration = .seconds(10),
        sweep: Duration = .seconds(2),
        purge: Duration = .seconds(5)
    ) {
        self.idle = idle
        self.sweep = sweep
        self.purge = purge
    }
}
