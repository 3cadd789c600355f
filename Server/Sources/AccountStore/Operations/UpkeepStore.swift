/// Maintenance of a store.
public protocol UpkeepStore: Sendable {
    /// Writes a small row durably, to check that the store works, including writes.
    ///
    /// - Throws: why it does not.
    func checkReady(now: Timestamp) async throws(StoreError)

    /// A secret shared by all server processes (for nonces and fictitious credential ids): the first proposal wins.
    func sharedSecret(named name: String, proposing proposal: [UInt8]) async throws(StoreError) -> [UInt8]

    /// Removes some expired rows in a short transaction; several processes may do it at a time.
    ///
    /// A cursor is where the previous part ended (nil: start at the beginning); ``PurgeResult/next`` is nil at the end.
    func purge(
        from cursor: PurgeCursor?,
        _ settings: PurgeSettings,
        now: Timestamp
    ) async throws(StoreError) -> PurgeResult

    /// Counts since the store was opened, for metrics.
    var statistics: StoreStatistics { get }

    /// Finishes the work in progress and closes the database; every operation fails from then on.
    func close() async
}

/// The progress of a purge.
public struct PurgeCursor: Sendable, Equatable {
    /// The index of the table.
    package let table: Int
    /// The last key that was examined.
    package let key: [UInt8]

    package init(table: Int, key: [UInt8]) {
        self.table = table
        self.key = key
    }
}

/// The result of one part of a purge.
public struct PurgeResult: Sendable, Equatable {
    /// The number of removed rows.
    public let removed: Int
    /// Where to continue; nil: at the end.
    public let next: PurgeCursor?

    package init(removed: Int, next: PurgeCursor?) {
        self.removed = removed
        self.next = next
    }
}

/// How long expired rows are kept.
public struct PurgeSettings: Sendable {
    /// How long the audit is kept; the newest record of each chain stays, so that the chain continues.
    public var auditRetention: Duration
    /// How long transactions are kept after their end.
    public var transactionRetention: Duration
    /// How long a replaced refresh token is remembered, so that using it again ends its session; after that it is
    /// simply unknown.
    public var replacedTokenRetention: Duration
    /// How many rows one part examines.
    public var rowsAtATime: Int

    /// Creates settings.
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

/// Counts of a store since it was opened.
public struct StoreStatistics: Sendable, Equatable {
    /// Write transactions, counted as operations.
    public var writes = 0
    /// Commits that made them durable: fewer, because several operations may share one.
    public var commits = 0
    /// Read operations.
    public var reads = 0
    /// Operations that failed with an error of the store (not a conflict).
    public var failures = 0
    /// Transactions that were repeated because of concurrent ones.
    public var retries = 0
    /// Operations that are waiting or running now.
    public var pending = 0
    /// How long the database was busy writing.
    public var busyTime = Duration.zero

    /// Creates zero counts.
    public init() {}
}
