internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The items of a keychain in their file; finds and seals them, but does not decide which caller may access them.
///
/// Used by one thread at a time.
final class ItemStore {
    let directory: StoreDirectory
    var database: ItemDatabase
    /// The set of all items, as of the last commit.
    var itemSet = ItemSetState()
    /// The set as of the last change that was acknowledged, if a later one went to files that no name led to any more.
    var acknowledgedSet: ItemSetDigest?
    /// The progress of the sweep since the first unlock; nil if it has ended.
    var sweepState: ItemSetSweep?
    let limits: StoreLimits
    /// The result of comparing the rows with their tags; nil before.
    var comparison: StoreComparison?
    /// The faults found since the first unlock.
    var health = ItemStore.unknown
    /// The result of SQLite's integrity check; nil before.
    private var integrityFaults: [String]?
    /// The numbers of new rows; the file of a repair goes on with those of the repaired one.
    var rows = RowNumbers()
    /// After a failed write to the disk, the state in memory is invalid until it is read again.
    var needsReopening = false
    /// Whether the present commit removed an item with constraints.
    var hasRemovedProtected = false
    /// Commits since the generation grew.
    var commitsSinceCount = 0
    /// The length of the log in bytes, when last read.
    var logLength = 0
    /// When the next item ends (``AttributeKey/ends``), as far as is known: microseconds since 1970; nil for never.
    var nextEnd: Int64?
    /// The progress of reading the rows for those that have ended; nil while they are not read.
    var endedRows: EndedRows?
    /// Called before an item is changed or removed, with its row: an export that is under way takes it as it is.
    var willChange: ((Int64) -> Void)?
    /// Called after a commit with the rows that it changed: a repair that is under way takes them over.
    var didChange: (([Int64]) -> Void)?
    /// Holds one item's key at a time during a search; empty between searches.
    var itemKey = AEADKeyPlace()
    /// Records that were deleted or replaced since the log was last emptied.
    private var deletedCount = 0

    /// Opens the existing items.
    init(
        directory: StoreDirectory,
        limits: StoreLimits = StoreLimits()
    ) throws(KeychainError) {
        self.directory = directory
        self.limits = limits
        database = try ItemDatabase(openingIn: directory)
    }

    init(
        directory: StoreDirectory,
        database: ItemDatabase,
        limits: StoreLimits = StoreLimits()
    ) {
        self.directory = directory
        self.limits = limits
        self.database = database
    }

    /// Creates an empty store under the name of new items.
    static func make(
        in directory: StoreDirectory,
        storeID: [UInt8],
        setKey: Key,
        generation: UInt64 = 0,
        keybag: UInt64 = 0,
        limits: StoreLimits = StoreLimits()
    ) throws(KeychainError) -> ItemStore {
        let database = try ItemDatabase(makingIn: directory, .newItems)
        let store = ItemStore(directory: directory, database: database, limits: limits)
        try store.writeEmptySet(
            with: setKey,
            storeID: storeID,
            generation: generation,
            keybag: keybag
        )
        store.integrityFaults = []
        store.comparison = StoreComparison()
        return store
    }

    /// Whether a directory has a file that may hold items, in whatever condition.
    ///
    /// An interrupted set-up leaves none: its items get their name after the keybag has its own.
    static func mayHaveItems(in directory: StoreDirectory) throws(KeychainError) -> Bool {
        for file in [StoreFile.items, .itemsLog, .itemsMark] where try directory.has(file.rawValue) {
            return true
        }
        return false
    }

    /// Reads the record of the set after an unlock; the items themselves are checked later (``sweep(_:)``), and each when
    /// it is used.
    ///
    /// - Returns: whether no fault is known so far.
    func load(_ context: ItemContext) -> Bool {
        itemSet = ItemSetState()
        acknowledgedSet = nil
        sweepState = nil
        comparison = nil
        integrityFaults = nil
        health = Self.unknown
        do throws(KeychainError) {
            if database.version == ItemSchema.formerVersion, try !migrate(context) {
                health.isSetAuthentic = false
                health.faults.append(Self.setIsDamaged)
                return false
            }
            try takeSet(try readDigest(context), context)
            sweepState = ItemSetSweep()
            // The rows of a large store are counted in the background.
            let (count, last): (Int?, Int64) = itemSet.isWhole ? try counts() : (nil, try lastRow())
            if let count { health.isSetAuthentic = itemSet.tags.count == count }
            rows.start(after: last > Self.lastRow ? 0 : last)
        } catch {
            health.isSetAuthentic = false
            if error.cause != .setDamaged { health.faults.append(Self.description(of: error)) }
        }
        return health.isWell
    }

    /// The greatest row number that this program assigns.
    private static let lastRow = Int64(1) << 48

    /// The number of rows, and the number of the last one.
    func counts() throws(KeychainError) -> (count: Int, last: Int64) {
        try ItemDatabase.translatingErrors {
            var result = (count: 0, last: Int64(0))
            // Both in one query would read each row's entry: 8 ms of 100,000 items instead of 0.6.
            let statement = try database.statement(
                "SELECT (SELECT count(*) FROM items), (SELECT max(id) FROM items)"
            )
            try statement.forEach {
                result = (Int(statement.columns.number(0)), statement.columns.number(1))
                return false
            }
            return result
        }
    }

    /// The number of the last row, without reading the others.
    private func lastRow() throws(KeychainError) -> Int64 {
        try ItemDatabase.translatingErrors {
            var last: Int64 = 0
            let statement = try database.statement("SELECT max(id) FROM items")
            try statement.forEach {
                last = statement.columns.number(0)
                return false
            }
            return last
        }
    }

    /// Reopens the file after a failed write, and loads it as at the first unlock.
    func reopenIfNeeded(_ context: ItemContext) throws(KeychainError) {
        guard needsReopening else { return }
        // Other files are not a later state of these.
        try database.checkPlace()
        database.shut()
        database = try ItemDatabase(openingIn: directory)
        logLength = logByteCount()
        needsReopening = false
        _ = load(context)
    }

    /// Closes new items, flushed and without a log: they get another name.
    func finish() throws(KeychainError) {
        try emptyLog()
        database.shut()
        try directory.sync(.newItems)
        try directory.sync()
    }

    /// Empties the log and closes the file.
    func close() {
        settleLog()
        database.shut()
    }

    /// Checkpoints the log, so that no record is in the log alone.
    ///
    /// A failure is retried later.
    func settleLog() {
        guard !needsReopening, logByteCount() > 0 else { return }
        do throws(KeychainError) {
            try emptyLog()
            deletedCount = 0
        } catch {
            needsReopening = error.status == .io
        }
    }

    // MARK: Deleted records

    /// The most deleted records in the log before it is emptied at once.
    private static let mostDeletedRecords = 256

    func noteDeleted(_ count: Int) {
        deletedCount += count
    }

    var hasDeletedRecords: Bool { deletedCount > 0 }

    var isPurgeDue: Bool { deletedCount > Self.mostDeletedRecords }

    /// Empties the log, so that no file has deleted records; a failure is retried later.
    func purge() {
        guard deletedCount > 0, !needsReopening else { return }
        do throws(KeychainError) {
            try emptyLog()
            deletedCount = 0
        } catch {
            needsReopening = error.status == .io
        }
    }

    // MARK: Structure

    /// Runs SQLite's integrity check, once: a missing index entry would make an item appear absent.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` if `isAwaited` returns true before the end.
    func structureFaults(
        unless isAwaited: @escaping @Sendable () -> Bool = { false }
    ) throws(KeychainError) -> [String] {
        if let integrityFaults { return integrityFaults }
        let answers = try database.interruptible(by: isAwaited) { () throws(KeychainError) in
            try ItemDatabase.translatingErrors { try database.texts("PRAGMA integrity_check(20)") }
        }
        let faults = answers.filter { $0 != "ok" }
        integrityFaults = faults
        return faults
    }

    /// Makes the next call run the integrity check again.
    func forgetStructure() {
        integrityFaults = nil
    }
}

/// Assigns row numbers, each once.
final class RowNumbers: Sendable {
    private let last = Guarded<Int64>(0)

    func start(after row: Int64) { last.withLock { $0 = max($0, row) } }

    func take() -> Int64 {
        last.withLock { last in
            last &+= 1
            return last
        }
    }
}
