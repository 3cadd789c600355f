internal import KeychainModel
internal import Primitives

/// The result of comparing all rows with the set's tags.
struct StoreComparison {
    enum Fault {
        /// The set has no such row: it was deleted, or inserted from outside.
        case unknown
        /// Its attributes are outdated or were modified.
        case attributes
        /// Its look-up columns differ from its sealed digests.
        case columns
        /// Its attributes are current, but its wraps or data are not.
        case content
    }

    /// The rows that do not match their tags.
    var faults: [Int64: Fault] = [:]
    /// Rows that have a tag but are not in the table.
    var missing: Set<Int64> = []
    /// Parts of the file that cannot be read, and indexes that do not match the rows.
    var structure: [String] = []

    /// Whether a search may find fewer items than exist.
    var mayMiss: Bool {
        !missing.isEmpty || !structure.isEmpty || faults.contains { $0.value != .content }
    }

    var isWhole: Bool { faults.isEmpty && missing.isEmpty && structure.isEmpty }

    /// Forgets a row that this program removed or replaced.
    mutating func forget(_ row: Int64) {
        faults[row] = nil
        missing.remove(row)
    }
}

extension ItemStore {
    /// Compares all rows with their tags and all indexes with the rows, once after the file was opened: before a search
    /// may report that there is no item, or no further one.
    ///
    /// No row is decrypted; it takes about a microsecond for each row and each index entry.
    func compared(_ context: ItemContext) throws(KeychainError) -> StoreComparison {
        if let comparison { return comparison }
        try readWholeSet(context)
        var result = StoreComparison()
        do throws(KeychainError) {
            try ItemDatabase.translatingErrors { try compareRows(context, &result) }
        } catch {
            guard error.status == .decode else { throw error }
            result.structure.append("the table of items cannot be read to its end")
        }
        comparison = result
        return result
    }

    private func compareRows(_ context: ItemContext, _ result: inout StoreComparison) throws {
        var sums = IndexSums()
        var seen: Set<Int64> = []
        var count = 0
        var last = Int64.min
        let progress = WorkProgress.current
        _ = try ItemRow.forEach(database, hasData: false, after: .min, atMost: .max) { row in
            // An unreadable row is detected below as missing.
            guard let row, row.id > last else { return }
            last = row.id
            row.add(to: &sums)
            if let fault = try row.fault(itemSet.tags, database, context) { result.faults[row.id] = fault }
            count += 1
            progress?.note(count, of: 2 * itemSet.tags.count)
            if itemSet.tags[row.id] != nil { seen.insert(row.id) }
        }
        if seen.count != itemSet.tags.count {
            result.missing = Set(itemSet.tags.rows).subtracting(seen)
        }
        for index in ItemIndex.allCases {
            do {
                if try index.sum(in: database, seed: sums.seed) == sums[index] { continue }
            } catch {
                guard KeychainError(inStore: error).status == .decode else { throw error }
            }
            result.structure.append("the index \(index.rawValue) does not fit the items")
        }
    }

    /// Compares the whole tag of a row without data: one wrong bit makes data look absent, and the sealed attributes do
    /// not say whether an item has data.
    ///
    /// - Throws: ``AEAD/NotAuthentic`` if the row does not match its tag.
    func checkAbsentData(of row: ItemRow, _ context: ItemContext) throws {
        guard unsafe row.data == nil else { return }
        var isWhole = false
        _ = try ItemRow.forEach(database, hasData: false, after: row.id - 1, atMost: 1) { whole in
            isWhole = try whole?.fault(itemSet.tags, database, context) == nil && whole?.id == row.id
        }
        guard isWhole else { throw AEAD.NotAuthentic() }
    }

    /// Whether a search may find fewer items than exist, so that no item may be reported missing.
    func mayHideItems(_ context: ItemContext) throws(KeychainError) -> Bool {
        try compared(context).mayMiss
    }
}

extension ItemRow {
    /// How the row differs from its tag; nil if it matches.
    func fault(
        _ tags: ItemTags,
        _ database: ItemDatabase,
        _ context: ItemContext
    ) throws -> StoreComparison.Fault? {
        guard let recorded = tags[id] else { return .unknown }
        guard let found = try? tag(database, context) else { return .columns }
        if found == recorded { return nil }
        guard found.attributes == recorded.attributes else { return .attributes }
        let isFound = try? open(in: context) { hasDigests(of: $0) }
        guard let isFound else { return .attributes }
        return isFound ? .content : .columns
    }
}

/// The indexes over the items.
enum ItemIndex: String, CaseIterable {
    case scope = "items_scope"
    case first = "items_first"
    case second = "items_second"
    case label = "items_label"

    /// The table's columns in the index.
    fileprivate var columns: [LookupDigests.Part] {
        switch self {
        case .scope: [.scope]
        case .first: [.first, .name]
        case .second: [.second]
        case .label: [.label]
        }
    }

    /// Reads the index alone, in its own order.
    private var selection: StaticString {
        switch self {
        case .scope: "SELECT id, scope FROM items INDEXED BY items_scope ORDER BY scope, id"
        case .first: "SELECT id, first, name FROM items INDEXED BY items_first ORDER BY first, name, id"
        case .second:
            "SELECT id, second FROM items INDEXED BY items_second WHERE second IS NOT NULL ORDER BY second, id"
        case .label:
            "SELECT id, label FROM items INDEXED BY items_label WHERE label IS NOT NULL ORDER BY label, id"
        }
    }

    /// Counts the index's entries, which reads all of them.
    private var count: StaticString {
        switch self {
        case .scope: "SELECT count(*) FROM items INDEXED BY items_scope WHERE scope IS NOT NULL"
        case .first: "SELECT count(*) FROM items INDEXED BY items_first WHERE first IS NOT NULL"
        case .second: "SELECT count(*) FROM items INDEXED BY items_second WHERE second IS NOT NULL"
        case .label: "SELECT count(*) FROM items INDEXED BY items_label WHERE label IS NOT NULL"
        }
    }

    /// Reads all entries, without judging them, in one step: others wait for 5 ms at 100,000 items.
    func read(in database: ItemDatabase) throws(KeychainError) {
        try ItemDatabase.translatingErrors { try database.statement(count).forEach { true } }
    }

    /// The sum over the entries; nil if they are not in order, so that look-ups would miss some.
    fileprivate func sum(in database: ItemDatabase, seed: UInt64) throws -> UInt64? {
        var sum: UInt64 = 0
        var last: (words: [UInt64], row: Int64)?
        var isOrdered = true
        let statement = try database.statement(selection)
        try statement.forEach {
            let row = statement.columns.number(0)
            let words = columns.indices.map { place in
                unsafe statement.columns.octets(CInt(place + 1)).map {
                    unsafe RowsByName.number($0).byteSwapped
                } ?? 0
            }
            if let last,
                !(last.words.lexicographicallyPrecedes(words) || last.words == words && last.row < row)
            {
                isOrdered = false
                return false
            }
            last = (words, row)
            sum &+= IndexSums.entry(words, row, seed)
            return true
        }
        return isOrdered ? sum : nil
    }
}

/// For each index, the sum of the digests of the entries it should have: an index that lacks an entry, or has a different
/// one, has a different sum.
///
/// Keyed with a new random seed for each comparison, so that an attacker cannot construct colliding entries.
private struct IndexSums {
    let seed = UInt64.random(in: 0...UInt64.max)
    private var sums = [UInt64](repeating: 0, count: ItemIndex.allCases.count)

    subscript(_ index: ItemIndex) -> UInt64 {
        get { sums[ItemIndex.allCases.firstIndex(of: index) ?? 0] }
        set { sums[ItemIndex.allCases.firstIndex(of: index) ?? 0] = newValue }
    }

    mutating func add(_ words: [UInt64], _ row: Int64, to index: ItemIndex) {
        self[index] &+= Self.entry(words, row, seed)
    }

    /// Swift's `Hasher` is SipHash with a random key in each process.
    static func entry(_ words: [UInt64], _ row: Int64, _ seed: UInt64) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(seed)
        for word in words { hasher.combine(word) }
        hasher.combine(row)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

extension ItemRow {
    /// Adds the entries that the indexes should have for the row; for rows with all columns.
    fileprivate func add(to sums: inout IndexSums) {
        for index in ItemIndex.allCases {
            let words = index.columns.compactMap { part in
                unsafe lookup(part).map { unsafe RowsByName.number($0).byteSwapped }
            }
            // A NULL value is in no index.
            guard words.count == index.columns.count else { continue }
            sums.add(words, id, to: index)
        }
    }
}
