/// The delays before an engine does background work.
public struct BackgroundDelays: Sendable {
    /// How long no change must have occurred before the log is written back to the file, and free space left by deletions
    /// is returned to the disk.
    public var idle: Duration
    /// How long the first requests after an unlock have the engine to themselves before all items are swept.
    public var sweep: Duration
    /// How long a deleted record may stay in the log: one checkpoint then serves many deletions.
    public var purge: Duration
    /// How long after hardware did not answer what it owes is tried again; each further wait is twice as long, up to an
    /// hour.
    public var retry: Duration

    /// The default delays of a daemon.
    public init(
        idle: Duration = .seconds(10),
        sweep: Duration = .seconds(2),
        purge: Duration = .seconds(5),
        retry: Duration = .seconds(5)
    ) {
        self.idle = idle
        self.sweep = sweep
        self.purge = purge
        self.retry = retry
    }

    /// Tries something again after each wait (``retry``), until `succeeds` returns true.
    func retrying(until succeeds: @escaping @Sendable () async -> Bool) -> Task<Void, Never> {
        let waits = sequence(first: retry) { min($0 * 2, .seconds(3600)) }
        return Task(priority: .background) {
            for wait in waits {
                guard (try? await Task.sleep(for: wait)) != nil, await !succeeds() else { return }
            }
        }
    }
}
