/// What keeps a store going.
public protocol UpkeepStore: Sendable {
    /// A small row written and durable: the store works, for writing too.
    ///
    /// - Throws: why it does not.
    func checkReady(now: Timestamp) async throws(StoreError)

    /// A secret that all server processes have in common (for nonces, for made-up credential ids): the one that was
    /// proposed first.
    func sharedSecret(named name: String, proposing proposal: [UInt8]) async throws(StoreError) -> [UInt8]

    /// Removes a part of what is over, in a transaction that is short; many processes may do it at a time.
    ///
    /// A cursor is where the part before this one ended (nil: from the beginning); ``PurgeResult/next`` is nil when
    /// everything was looked at.
    func purge(
        from cursor: PurgeCursor?,
        _ settings: PurgeSettings,
        now: Timestamp
    ) async throws(StoreError) -> PurgeResult

    /// What the store did since it was opened, for metrics.
    var statistics: StoreStatistics { get }

    /// Ends the work that was begun and closes the database; every operation fails from then on.
    func close() async
}

/// How far a purge has come.
public struct PurgeCursor: Sendable, Equatable {
    /// Which table.
    package let table: Int
    /// The last key that was looked at.
    package let key: [UInt8]

    package init(table: Int, key: [UInt8]) {
        self.table = table
        self.key = key
    }
}

/// A part of a purge.
public struct PurgeResult: Sendable, Equatable {
    /// How many rows are gone.
    public let removed: Int
    /// Where to go on; nil: at the end.
    public let next: PurgeCursor?

    package init(removed: Int, next: PurgeCursor?) {
        self.removed = removed
        self.next = next
    }
}

/// How long what is over is still kept.
public struct PurgeSettings: Sendable {
    /// How long the audit is kept; the newest record of each chain stays, so that the chain goes on.
    public var auditRetention: Duration
    /// How long transactions are kept after their end.
    public var transactionRetention: Duration
    /// How long a refresh token that was replaced is known, so that using it again ends its session; after that it is
    /// just unknown.
    public var replacedTokenRetention: Duration
    /// How many rows one part looks at.
    public var rowsAtATime: Int

    /// Describes settings.
    public init(
        auditRetention: Duration = .seconds(720 * 3600),
        transactionRetention: Duration = .seconds(720 * 3600),
        replacedTokenRetention: Duration = .seconds(7 * 86_400),
        rowsAtATime: Int = 500
    ) {
        self.auditRetention = auditRetention
        self.transactionRetention = transactionRetention
        self.replacedTokenRetention = replacedTokenRetention
        self.rowsAtATime = rowsAtATime
    }
}

/// What a store did since it was opened.
public struct StoreStatistics: Sendable, Equatable {
    /// Transactions that wrote, as operations count.
    public var writes = 0
    /// Commits that made them durable: fewer, where several go together.
    public var commits = 0
    /// Look-ups.
    public var reads = 0
    /// Operations that ended with an error of the store (no conflict).
    public var failures = 0
    /// Transactions that were tried again because others were in the way.
    public var retries = 0
    /// Operations that wait or run now.
    public var pending = 0
    /// How long the database was busy with writing.
    public var busyTime = Duration.zero

    /// Nothing yet.
    public init() {}
}
