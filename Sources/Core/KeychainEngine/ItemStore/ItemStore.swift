internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// The items of a keychain in their file; knows how to find and seal them, not who may ask.
///
/// Belongs to one actor.
final class ItemStore {
    let directory: StoreDirectory
    var database: ItemDatabase
    /// What the last commit said of all items.
    var itemSet = ItemSetState()
    /// How far the items were looked through since the first unlock; nil when there is nothing more to look at.
    var sweepState: ItemSetSweep?
    let limits: StoreLimits
    /// How the rows compared with what is said of them; nil until they were.
    var comparison: StoreComparison?
    /// What is known of the items since the first unlock.
    var health = ItemStore.unknown
    /// What SQLite says of its own structures; nil until it was asked.
    private var integrityFaults: [String]?
    /// The numbers of new rows.
    let rows = RowNumbers()
    /// After a write that failed on the disk nothing in memory is believed until it was read anew.
    var needsReopening = false
    /// Whether the present commit removed an item whose access control demands something.
    var hasRemovedProtected = false
    /// Commits since the generation grew.
    var commitsSinceCount = 0
    /// The bytes of the log when it was last looked at.
    var logLength = 0
    /// Where the keys of items are opened, one after the other; empty between two searches.
    let itemKey = AEADKeyPlace()
    /// Records that were deleted or replaced since the log was last emptied.
    private var deletedCount = 0

    /// Opens the items that are there.
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

    /// Makes an empty store in the place of whatever is there.
    static func make(
        in directory: StoreDirectory,
        storeID: [UInt8],
        setKey: Key,
        generation: UInt64 = 0,
        limits: StoreLimits = StoreLimits()
    ) throws(KeychainError) -> ItemStore {
        let database = try ItemDatabase(makingIn: directory)
        let store = ItemStore(directory: directory, database: database, limits: limits)
        try store.writeEmptySet(with: setKey, storeID: storeID, generation: generation)
        store.integrityFaults = []
        store.comparison = StoreComparison()
        return store
    }

    /// Whether a directory without a keybag holds items all the same; what a set-up that was cut short left behind
    /// does not count.
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
            // A new file has a page for each table and index; half of one cannot be opened, nor can a damaged one.
            return size > 32 * ItemSchema.pageByteCount
        }
    }

    /// Reads what speaks for all items, once it can be opened; the items themselves are looked through later
    /// (``sweep(_:)``), and each when it is used.
    ///
    /// - Returns: whether all is well as far as is known now.
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
            // Those of a large store are counted in the background.
            let (count, last): (Int?, Int64) = itemSet.isWhole ? try counts() : (nil, try lastRow())
            if let count { health.isSetAuthentic = itemSet.tags.count == count }
            rows.start(after: last > Self.lastRow ? 0 : last)
        } catch {
            health.isSetAuthentic = false
            if error.cause != .setDamaged { health.faults.append(Self.description(of: error)) }
        }
        return health.isWell
    }

    /// More rows were never made: a greater number is not ours.
    private static let lastRow = Int64(1) << 48

    /// How many rows there are, and the number of the last.
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

    /// The number of the last row, with no look at the others.
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

    /// Opens the file anew after a failed write, and looks through it as at the first unlock.
    func reopenIfNeeded(_ context: ItemContext) throws(KeychainError) {
        guard needsReopening else { return }
        database.shut()
        database = try ItemDatabase(openingIn: directory)
        logLength = logByteCount()
        needsReopening = false
        _ = load(context)
    }

    /// Closes the file, with nothing left in the log.
    func close() {
        settleLog()
        database.shut()
    }

    /// Brings what the log holds into the file: nothing is in the log alone then.
    ///
    /// What fails is tried again.
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

    /// How many deleted records may stay in the log before it is emptied at once.
    private static let mostDeletedRecords = 256

    func noteDeleted(_ count: Int) {
        deletedCount += count
    }

    var hasDeletedRecords: Bool { deletedCount > 0 }

    var isPurgeDue: Bool { deletedCount > Self.mostDeletedRecords }

    /// Empties the log, so that deleted records are in no file any more; what fails is tried again.
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

    /// Asks SQLite, once, whether its own structures are whole: an entry that is gone would make an item look
    /// absent.
    func structureFaults() throws(KeychainError) -> [String] {
        if let integrityFaults { return integrityFaults }
        let answers = try ItemDatabase.translatingErrors {
            try database.texts("PRAGMA integrity_check(20)")
        }
        let faults = answers.filter { $0 != "ok" }
        integrityFaults = faults
        return faults
    }

    /// Has SQLite asked anew.
    func forgetStructure() {
        integrityFaults = nil
    }
}

/// Numbers of rows that are not there yet; each is given once.
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
