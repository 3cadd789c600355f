internal import KeychainModel
internal import Primitives

/// Finds the items of files that SQLite cannot read, or not to their end.
///
/// The tables are known, so their rows are looked for on every page, in the file and in its log, and put into a new file
/// for examination. The seals decide which of them are items, and which version of a row is the current one.
struct ItemSalvage {
    /// The rows that were found, as ``StoreFile/savedItems``.
    let store: ItemStore
    /// Whether flushed records of the log are damaged or missing.
    let isLogDamaged: Bool
    /// The last record of the set that is left; nil if none is authentic.
    private(set) var lastDigest: ItemSetDigest?

    private let pages: SalvagedPages
    private let context: ItemContext
    /// Called again and again; throws if the work is to end.
    private let goOn: () throws(KeychainError) -> Void
    /// The rows of both tables, by number, each with all its versions, the newest first.
    private var items: [Int64: [Version]] = [:]
    private var groups: [Int64: [Version]] = [:]

    /// A row on one version of its page.
    private struct Version {
        let image: Int
        let cell: TableLeaf.Cell
    }

    private static let itemColumnCount = 10
    private static let groupColumnCount = 2
    /// How many pages, or rows, are examined between two calls of ``goOn``.
    private static let unitsAtOnce = 256

    /// Looks for the items.
    ///
    /// - Parameters:
    ///   - files: the files as they are.
    ///   - directory: where the found rows are saved.
    ///   - limits: the limits of the store.
    ///   - context: the keys.
    ///   - goOn: called again and again; throws if the work is to end.
    /// - Throws: ``KeychainError`` with `errSecDecode` if there are none, or what `goOn` throws.
    init(
        of files: DamagedFiles,
        in directory: StoreDirectory,
        limits: StoreLimits,
        _ context: ItemContext,
        goOn: @escaping () throws(KeychainError) -> Void
    ) throws(KeychainError) {
        self.context = context
        self.goOn = goOn
        pages = SalvagedPages(of: files)
        isLogDamaged = pages.isLogDamaged
        store = ItemStore(
            directory: directory,
            database: try ItemDatabase(makingIn: directory, .savedItems),
            limits: limits
        )
        do throws(KeychainError) {
            try findRows()
            guard !items.isEmpty || !groups.isEmpty else { throw .damaged }
            try saveSet()
            try saveItems()
        } catch {
            discard()
            throw error
        }
        _ = store.load(context)
    }

    /// Removes what was found.
    func discard() {
        store.database.shut()
        try? store.directory.removeItems(.savedItems)
    }

    private mutating func findRows() throws(KeychainError) {
        for (index, image) in pages.images.enumerated() {
            if index % Self.unitsAtOnce == 0 { try goOn() }
            let page = try pages.octets(image)
            for cell in TableLeaf.cells(of: page) {
                switch TableLeaf.columns(of: Array(page[cell.local]))?.byteCounts.count {
                case Self.itemColumnCount:
                    items[cell.row, default: []].append(Version(image: index, cell: cell))
                case Self.groupColumnCount:
                    groups[cell.row, default: []].append(Version(image: index, cell: cell))
                default: break
                }
            }
        }
    }

    private func image(_ version: Version) -> SalvagedPages.Image { pages.images[version.image] }

    /// The columns after the row number; nil if they are malformed.
    private func values(
        _ version: Version,
        _ preference: SalvagedPages.Preference
    ) throws(KeychainError) -> [[UInt8]?]? {
        let page = try pages.octets(image(version))
        guard let record = try pages.record(version.cell, on: page, preference),
            let values = TableLeaf.values(of: record), values.first == .some(nil)
        else { return nil }
        return Array(values.dropFirst())
    }

    // MARK: The set

    /// Saves the record of the set, if it is surely that of the last commit: an older one would make the newest items
    /// look like restored ones.
    private mutating func saveSet() throws(KeychainError) {
        var groups = groups.compactMapValues { versions in versions.first { image($0).isNewest } }
        let isFormer = groups.count == 1 && groups[ItemStore.digestRow] == nil
        let digestRow = isFormer ? groups.first?.key : ItemStore.digestRow
        var version = ItemSchema.version
        if let digestRow, let found = groups.removeValue(forKey: digestRow),
            let sealed = try values(found, .newest)?.last ?? nil,
            let (digest, format) = opened(sealed)
        {
            lastDigest = digest
            if !isLogDamaged || image(found).isWhole && image(found).isOfLastCommit {
                version = format
                try ItemDatabase.translatingErrors { try store.write(sealed, row: digestRow) }
            }
        }
        let saved = groups
        try store.database.transaction {
            for (row, version) in saved {
                if let octets = try values(version, .newest)?.last ?? nil {
                    try store.write(octets, row: row)
                }
            }
            try store.database.set(version: version)
            return true
        }
        store.database.hasSet(version: version)
        guard version != ItemSchema.formerVersion else { return }
        do throws(KeychainError) {
            try store.takeSet(try store.readDigest(context), context)
            try store.readWholeSet(context)
        } catch {
            guard error.cause == .setDamaged else { throw error }
        }
    }

    private func opened(_ sealed: [UInt8]) -> (ItemSetDigest, format: Int)? {
        for format in ItemSchema.formerVersion...ItemSchema.version {
            let digest = ItemSetDigest(
                opening: sealed,
                with: context.setRecord,
                storeID: context.storeID,
                version: format
            )
            if let digest { return (digest, format) }
        }
        return nil
    }

    // MARK: Items

    private func saveItems() throws(KeychainError) {
        let rows = items.keys.sorted()
        for start in stride(from: 0, to: rows.count, by: Self.unitsAtOnce) {
            try goOn()
            try store.database.transaction {
                for row in rows[start..<min(start + Self.unitsAtOnce, rows.count)] { try saveItem(row) }
                return true
            }
        }
    }

    /// Saves the best version of a row.
    private func saveItem(_ row: Int64) throws {
        let candidates = candidates(for: row)
        var best: (rank: Rank, values: [[UInt8]?])?
        var last: [[UInt8]?]?
        for (version, preference) in candidates {
            guard let values = try values(version, preference), try store.saveItem(values, row: row) else {
                continue
            }
            last = values
            if candidates.count == 1 { return }
            let rank = try rank(row)
            if best.map({ $0.rank < rank }) ?? true { best = (rank, values) }
            if rank.isCurrent { break }
        }
        if let best, best.values != last { _ = try store.saveItem(best.values, row: row) }
    }

    /// The versions of a row that may be the current one, the most likely first.
    private func candidates(for row: Int64) -> [(Version, SalvagedPages.Preference)] {
        let versions = items[row] ?? []
        let isRecorded = store.itemSet.tags[row] != nil
        let isSetKnown = store.itemSet.digest != nil
        return versions.flatMap { version -> [(Version, SalvagedPages.Preference)] in
            let image = image(version)
            // A tag proves which version is current. Without, older ones count only where a newer one is damaged, and a row
            // that the set does not have only if it is there still.
            let counts =
                image.isNewest || isRecorded && isSetKnown
                || !isSetKnown && image.isCommitted
                    && (image.number == 0 || pages.damagedPages.contains(image.number))
            guard counts else { return [] }
            return version.cell.overflow == 0 || !isLogDamaged
                ? [(version, .newest)] : SalvagedPages.Preference.allCases.map { (version, $0) }
        }
    }

    /// How good a saved version is; among those that no tag tells apart, the item's last change counts.
    private struct Rank: Comparable {
        var isCurrent = false
        var isReadable = false
        var generation: UInt64 = 0

        static func < (one: Rank, other: Rank) -> Bool {
            guard one.isCurrent == other.isCurrent else { return other.isCurrent }
            guard one.isReadable == other.isReadable else { return other.isReadable }
            return one.generation < other.generation
        }
    }

    private func rank(_ id: Int64) throws -> Rank {
        var rank = Rank()
        _ = try ItemRow.forEach(store.database, hasData: false, after: id - 1, atMost: 1) { row in
            guard let row, row.id == id, let generation = try? row.open(in: context, { $0.generation }) else {
                return
            }
            let (finding, _) = try store.judge(row, context)
            rank.generation = generation
            rank.isReadable = finding == nil || finding == .older
            rank.isCurrent = finding == nil && store.itemSet.digest != nil
        }
        return rank
    }
}

extension ItemStore {
    /// Puts a found item into its table.
    ///
    /// - Returns: false if it lacks a column that every item has.
    fileprivate func saveItem(_ values: [[UInt8]?], row: Int64) throws -> Bool {
        // All but `second`, `label`, `keys` and `data`.
        guard values.count == 9, [0, 1, 2, 3, 6].allSatisfy({ values[$0] != nil }) else { return false }
        let statement = try database.statement(
            """
            INSERT OR REPLACE INTO items \
            (reference, scope, first, name, second, label, attributes, keys, data, id) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        for (place, value) in values.enumerated() { statement.bind(CInt(place + 1), value) }
        statement.bind(10, row)
        try statement.run()
        return true
    }
}
