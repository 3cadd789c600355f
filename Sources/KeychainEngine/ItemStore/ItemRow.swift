internal import Crypto
internal import Foundation
internal import GRDB
internal import KeychainModel

/// A row as it comes from the file, before anything of it is believed.
struct ItemRow {
    private static let columns = "id, reference, attributes, keys, data"

    let id: Int64
    let reference: Data
    let attributes: Data
    private let row: Row

    /// Borrows from a cursor's row: good until the cursor moves on.
    init(_ row: Row) throws(KeychainError) {
        // The types were checked by SQLite (STRICT); a damaged page may hold others all the same.
        guard let id = Int64.fromDatabaseValue(row[0]),
            let reference = Self.blob(row, 1), reference.count == PersistentReference.octetCount,
            let attributes = Self.blob(row, 2)
        else { throw .damaged }
        self.id = id
        self.reference = reference
        self.attributes = attributes
        self.row = row
    }

    var keys: Data? { Self.blob(row, 3) }
    var data: Data? { Self.blob(row, 4) }

    /// SQLite's own octets, not copied: they stay until the cursor moves on, and so does this row.
    private static func blob(_ row: Row, _ index: Int) -> Data? {
        try? row.withUnsafeData(atIndex: index) { $0 }
    }

    /// Opens the attributes for the length of `body`.
    ///
    /// - Throws: ``AEAD/NotAuthentic`` when they are not this item's.
    func open<R>(
        with metadata: SymmetricKey,
        in context: ItemContext,
        _ body: (OpenedHeader) throws -> R
    ) throws -> R {
        try unsafe AEAD.open(attributes, with: metadata, authenticating: context.attributes(reference)) {
            octets in
            guard let header = unsafe OpenedHeader(octets) else { throw AEAD.NotAuthentic() }
            return try body(header)
        }
    }

    /// Whether the row's digests are those that were sealed with its attributes.
    func hasDigests(of header: OpenedHeader) -> Bool {
        var offset = 0
        for index in 5..<(5 + 6) {
            let column = Self.blob(row, index) ?? Data(count: LookupDigests.digestByteCount)
            let sealed = unsafe header.digests[offset..<(offset + LookupDigests.digestByteCount)]
            guard unsafe column.elementsEqual(sealed) else { return false }
            offset += LookupDigests.digestByteCount
        }
        return true
    }

    /// Calls `body` with the rows a search looks at, in the order of their numbers, until it returns false.
    static func forEach(
        _ database: Database,
        _ source: ItemSearch.Source,
        after last: Int64,
        _ body: (ItemRow) throws -> Bool
    ) throws {
        switch source {
        case .rows(let column, let digests):
            guard !digests.isEmpty else { return }
            let marks =
                digests.count == 1 ? "= ?" : "IN (\(digests.map { _ in "?" }.joined(separator: ", ")))"
            let statement = try database.cachedStatement(
                sql: """
                    SELECT \(columns) FROM items INDEXED BY items_\(column.rawValue) \
                    WHERE \(column.rawValue) \(marks) AND id > ? ORDER BY id
                    """
            )
            let arguments = digests.map { Data($0).databaseValue } + [last.databaseValue]
            try walk(Row.fetchCursor(statement, arguments: StatementArguments(arguments)), body)
        case .references(let references):
            let find = try database.cachedStatement(sql: "SELECT id FROM items WHERE reference = ?")
            let ids = try Set(references).compactMap { reference in
                try Int64.fetchOne(find, arguments: [Data(reference.octets)])
            }
            let fetch = try database.cachedStatement(sql: "SELECT \(columns) FROM items WHERE id = ?")
            for id in ids.sorted() where id > last {
                var isWanted = true
                try walk(Row.fetchCursor(fetch, arguments: [id])) { row in
                    isWanted = try body(row)
                    return isWanted
                }
                guard isWanted else { return }
            }
        }
    }

    /// Calls `body` with all rows, in the order of their numbers.
    static func forEach(_ database: Database, _ body: (ItemRow?) throws -> Void) throws {
        let statement = try database.cachedStatement(
            sql: "SELECT \(columns), scope, name, variant, first, second, label FROM items ORDER BY id"
        )
        let cursor = try Row.fetchCursor(statement)
        while let row = try cursor.next() { try body(try? ItemRow(row)) }
    }

    private static func walk(_ cursor: RowCursor, _ body: (ItemRow) throws -> Bool) throws {
        while let row = try cursor.next() {
            guard try body(ItemRow(row)) else { return }
        }
    }
}
