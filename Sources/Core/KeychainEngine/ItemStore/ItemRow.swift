internal import KeychainModel
internal import Primitives

/// A row as read from the file, before any authentication; its bytes are SQLite's own and valid until the statement moves
/// on.
@safe
struct ItemRow {
    private static let head = "id, reference, attributes"
    private static let whole = "\(head), keys, data"

    let id: Int64
    let reference: UnsafeRawBufferPointer
    let attributes: UnsafeRawBufferPointer
    /// nil if the row was read without data.
    let keys: UnsafeRawBufferPointer?
    /// nil if the item has no data, or the row was read without.
    let data: UnsafeRawBufferPointer?
    private let columns: ItemColumns

    /// Reads the row that the statement is at.
    private init(_ columns: ItemColumns, hasData: Bool = true) throws(KeychainError) {
        // SQLite enforces the types (STRICT), but a damaged page may hold other ones.
        guard let reference = unsafe columns.octets(1), reference.count == PersistentReference.octetCount,
            let attributes = unsafe columns.octets(2)
        else { throw .damaged }
        id = columns.number(0)
        unsafe self.reference = reference
        unsafe self.attributes = attributes
        unsafe keys = hasData ? columns.octets(3) : nil
        unsafe data = hasData ? columns.octets(4) : nil
        self.columns = columns
    }

    /// Opens the attributes for the duration of `body`.
    ///
    /// - Throws: ``AEAD/NotAuthentic`` if they are not authentic for this item.
    func open<R>(in context: ItemContext, _ body: (OpenedHeader) throws -> R) throws -> R {
        let metadata = context.metadata
        let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        return try unsafe context.withBinding(of: .attributes, reference, none) { binding in
            try unsafe AEAD.open(attributes, with: metadata, authenticating: binding) { octets in
                guard let header = unsafe OpenedHeader(octets) else { throw AEAD.NotAuthentic() }
                return try body(header)
            }
        }
    }

    /// Whether the row's digests equal those sealed with its attributes; for rows with all columns.
    func hasDigests(of header: OpenedHeader) -> Bool {
        for part in LookupDigests.Part.columns {
            let sealed = unsafe header.digest(part)
            if let octets = unsafe columns.octets(CInt(5 + part.rawValue)) {
                guard unsafe octets.elementsEqual(sealed) else { return false }
            } else {
                guard unsafe sealed.allSatisfy({ $0 == 0 }) else { return false }
            }
        }
        return true
    }

    /// Whether the row is found through each of its indexes; for rows with all columns.
    func isIndexed(in database: ItemDatabase) throws -> Bool {
        let indexes: [(columns: [CInt], sql: StaticString)] = [
            ([5], "SELECT 1 FROM items INDEXED BY items_scope WHERE scope = ? AND id = ?"),
            ([6, 7], "SELECT 1 FROM items INDEXED BY items_first WHERE first = ? AND name = ? AND id = ?"),
            ([8], "SELECT 1 FROM items INDEXED BY items_second WHERE second = ? AND id = ?"),
            ([9], "SELECT 1 FROM items INDEXED BY items_label WHERE label = ? AND id = ?"),
        ]
        return try indexes.allSatisfy { index in
            let digests = unsafe index.columns.compactMap { unsafe columns.octets($0) }
            // A NULL value is in no index.
            guard unsafe digests.count == index.columns.count else { return true }
            let find = try database.statement(index.sql)
            unsafe digests.enumerated().forEach { place, digest in unsafe find.bind(CInt(place + 1), digest) }
            unsafe find.bind(CInt(digests.count + 1), id)
            var isFound = false
            try find.forEach {
                isFound = true
                return false
            }
            return isFound
        }
    }

    // MARK: Reading

    /// Calls `body` with the rows of a source in ascending order until it returns false; the rows have keys and data if
    /// `hasData`.
    static func forEach(
        _ database: ItemDatabase,
        _ source: ItemSearch.Source,
        hasData: Bool = true,
        after last: Int64,
        tags: ItemTags,
        _ body: (ItemRow) throws -> Bool
    ) throws {
        switch source {
        case .rows(let index, let digests):
            guard !digests.isEmpty else { return }
            let sql = index.selection(of: hasData ? whole : head, digests.count)
            let statement = try database.statement(composed: sql)
            for (place, digest) in digests.enumerated() { statement.bind(CInt(place + 1), digest) }
            statement.bind(CInt(digests.count + 1), last)
            try forEachAscending(statement, after: last, hasData, body)
        case .indexedName(let first, let name):
            let columns = hasData ? whole : head
            let statement = try database.statement(
                composed: """
                    SELECT \(columns) FROM items INDEXED BY items_first \
                    WHERE first = ? AND name = ? AND id > ? ORDER BY id
                    """
            )
            statement.bind(1, first)
            statement.bind(2, name)
            statement.bind(3, last)
            try forEachAscending(statement, after: last, hasData, body)
        case .name(let name):
            // A row without a tag does not exist, whatever an index says.
            for id in tags.names[name] where id > last {
                guard try forPresentRow(id, database, body) else { return }
            }
        case .references(let references):
            // The sealed attributes decide whether the reference belongs to the row (``ItemSearch/matches(_:_:)``): a row
            // with another reference may be a different item.
            var former = last
            for (id, _) in references where id > former && tags[id] != nil {
                former = id
                guard try forPresentRow(id, database, body) else { return }
            }
        }
    }

    /// Calls `body` with the rows of an index.
    ///
    /// SQLite uses the bound only to find the first one: from a damaged index come others, over and over for a caller that goes on
    /// after the last one.
    /// - Throws: ``AEAD/NotAuthentic`` for a row out of order.
    private static func forEachAscending(
        _ statement: ItemStatement,
        after last: Int64,
        _ hasData: Bool,
        _ body: (ItemRow) throws -> Bool
    ) throws {
        var former = last
        try statement.forEach {
            let row = try ItemRow(statement.columns, hasData: hasData)
            guard row.id > former else { throw AEAD.NotAuthentic() }
            former = row.id
            return try body(row)
        }
    }

    /// Calls `body` with a row that must exist.
    ///
    /// - Throws: ``AEAD/NotAuthentic`` if it does not.
    private static func forPresentRow(
        _ id: Int64,
        _ database: ItemDatabase,
        _ body: (ItemRow) throws -> Bool
    ) throws -> Bool {
        var goesOn: Bool?
        try forRow(id, database) { goesOn = try body($0) }
        guard let goesOn else { throw AEAD.NotAuthentic() }
        return goesOn
    }

    /// Calls `body` with a row, if it exists.
    static func forRow(_ id: Int64, _ database: ItemDatabase, _ body: (ItemRow) throws -> Void) throws {
        let statement = try database.statement(
            "SELECT id, reference, attributes, keys, data FROM items WHERE id = ?"
        )
        statement.bind(1, id)
        try statement.forEach {
            try body(ItemRow(statement.columns))
            return false
        }
    }

    /// Data up to this length, in bytes, is read with its row; of longer data only the start is read.
    private static let shortData = 2048

    /// Calls `body` with at most `count` rows after a number, with all columns, and with nil for an unreadable row;
    /// without `hasData`, long data is not read.
    ///
    /// `goesOn` is asked after each row.
    /// - Returns: the number of the last row; nil if there was none.
    /// - Throws: `KeychainError` `decode` also for a row out of order: a damaged page may lead back to rows that were read, over and
    ///   over for a caller that goes on after the last one.
    static func forEach(
        _ database: ItemDatabase,
        hasData: Bool = true,
        after last: Int64,
        atMost count: Int,
        while goesOn: () -> Bool = { true },
        _ body: (ItemRow?) throws -> Void
    ) throws -> Int64? {
        let data = hasData ? "data" : "CASE WHEN length(data) <= \(shortData) THEN data END"
        let statement = try database.statement(
            composed: """
                SELECT id, reference, attributes, keys, \(data), scope, first, name, second, label, length(data) \
                FROM items WHERE id > ? ORDER BY id LIMIT ?
                """
        )
        statement.bind(1, last)
        statement.bind(2, Int64(count))
        var lastRow: Int64?
        try statement.forEach {
            let id = statement.columns.number(0)
            guard id > lastRow ?? last else { throw KeychainError.damaged }
            lastRow = id
            try body(try? ItemRow(statement.columns))
            return goesOn()
        }
        return lastRow
    }

    /// A look-up column of the row; nil if it is NULL.
    ///
    /// For rows with all columns.
    func lookup(_ part: LookupDigests.Part) -> UnsafeRawBufferPointer? {
        unsafe columns.octets(CInt(5 + part.rawValue))
    }

    // MARK: Tags

    /// The length of the data and the nonce it was sealed with; nil if there is no data.
    ///
    /// For rows with all columns.
    private func dataMark(_ database: ItemDatabase) throws -> ItemTag.DataMark? {
        guard !columns.isNull(10) else { return nil }
        let count = Int(columns.number(10))
        if let data = unsafe data { return unsafe ItemTag.DataMark(count: count, start: data) }
        let start = try database.startOfData(of: id, count: AEAD.nonceByteCount)
        return unsafe start.withUnsafeBytes { unsafe ItemTag.DataMark(count: count, start: $0) }
    }

    /// The tag of the row's present content, with other wraps if given; for rows with all columns.
    func tag(
        keys other: [UInt8]?? = nil,
        _ database: ItemDatabase,
        _ context: ItemContext
    ) throws -> ItemTag {
        let key = context.itemSet
        let mark = try dataMark(database)
        let count = LookupDigests.Part.columns.count * LookupDigests.digestByteCount
        return try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { digests in
            unsafe digests.initializeMemory(as: UInt8.self, repeating: 0)
            for part in LookupDigests.Part.columns {
                guard let octets = unsafe columns.octets(CInt(5 + part.rawValue)) else { continue }
                guard octets.count == LookupDigests.digestByteCount else { throw AEAD.NotAuthentic() }
                unsafe UnsafeMutableRawBufferPointer(rebasing: digests[part.range]).copyMemory(from: octets)
            }
            let digests = UnsafeRawBufferPointer(digests)
            func make(_ keys: UnsafeRawBufferPointer?) -> ItemTag {
                unsafe ItemTag(
                    row: id,
                    reference: reference,
                    attributes: attributes,
                    digests: digests,
                    keys: keys,
                    data: mark,
                    key: key
                )
            }
            switch other {
            case .none: return unsafe make(keys)
            case .some(.none): return make(nil)
            case .some(.some(let keys)): return unsafe keys.withUnsafeBytes { unsafe make($0) }
            }
        }
    }

    /// Whether the data is that which was sealed with the attributes, as far as they say.
    func hasData(of header: OpenedHeader) -> Bool {
        guard let digest = header.dataDigest else { return true }
        guard let data = unsafe data else { return false }
        return unsafe DataDigest(ofSealed: data) == digest
    }

    /// Whether the attributes match the row's tag: the cheap part of the tag, compared at each read.
    func isCurrent(_ tag: ItemTag?) -> Bool {
        guard let tag else { return false }
        return unsafe tag.attributes == ItemTag.end(of: attributes)
    }
}
