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
    /// The progress of the sweep since the first unlock; nil if it has ended.
    var sweepState: ItemSetSweep?
    let limits: StoreLimits
    /// The result of comparing the rows with their tags; nil before.
    var comparison: StoreComparison?
    /// The faults found since the first unlock.
    var health = ItemStore.unknown
    /// The result of SQLite's integrity check; nil before.
    private var integrityFaults: [String]?
    /// The numbers of new rows.
    let rows = RowNumbers()
    /// After a failed write to the disk, the state in memory is invalid until it is read again.
    var needsReopening = false
    /// Whether the present commit removed an item with constraints.
    var hasRemovedProtected = false
    /// Commits since the generation grew.
    var commitsSinceCount = 0
    /// The length of the log in bytes, when last read.
    var logLength = 0
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

    /// Creates an empty store, replacing an existing one.
    static func make(
        in directory: StoreDirectory,
        storeID: [UInt8],
        setKey: Key,
        generation: UInt64 = 0,
        keybag: UInt64 = 0,
        limits: StoreLimits = StoreLimits()
    ) throws(KeychainError) -> ItemStore {
        let database = try ItemDatabase(makingIn: directory)
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

    /// Whether a directory without a keybag has items nevertheless; files of an interrupted set-up do not count.
    static func hasItems(in directory: StoreDirectory) throws(KeychainError) -> Bool {
        guard let size = try directory.size(of: .items) else { return false }
        do throws(KeychainError) {
            let database = try ItemDatabase(openingIn: directory)
            defer { database.shut() }
            return try ItemDatabase.translatingErrors {
                try database.number("SELECT EXISTS (SELECT 1 FROM items)") == 1
            }
        } catch {
            guard error.status == .decode else { throw error }
            // A new file has a page for each table and index; half a file cannot be opened, nor can a damaged one.
            return size > 32 * ItemSchema.pageByteCount
        }
    }

    /// Reads the record of the set after an unlock; the items themselves are checked later (``sweep(_:)``), and each when
    /// it is used.
    ///
    /// - Returns: whether no fault is known so far.
    func load(_ context: ItemContext) -> Bool {
        itemSet = ItemSetState()
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
            let statement = try database.statement("SELECT count(*), max(id) FROM items")
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
        database.shut()
        database = try ItemDatabase(openingIn: directory)
        logLength = logByteCount()
        needsReopening = false
        _ = load(context)
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
    func structureFaults() throws(KeychainError) -> [String] {
        if let integrityFaults { return integrityFaults }
        let answers = try ItemDatabase.translatingErrors {
            try database.texts("PRAGMA integrity_check(20)")
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
