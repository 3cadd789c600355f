internal import AccountStore
internal import GRDB
internal import GRDBSQLite
internal import SQLAccountStore

/// GRDB's connection, with statements prepared once and stepped directly; used on one thread at a time.
final class SQLiteConnection: SQLConnection {
    let ownChain = Identifier<Never>.random(byteCount: 8).bytes

    private let queue: DatabaseQueue
    private let handle: OpaquePointer
    /// The prepared statements, by index.
    private var statements: [OpaquePointer?] = []
    private let log = LogLength()

    /// Opens an existing file.
    init(_ path: String, _ configuration: GRDB.Configuration) throws {
        queue = try DatabaseQueue(path: path, configuration: configuration)
        guard let handle = queue.inDatabase({ $0.sqliteConnection }) else {
            throw StoreError(.unavailable, cause: "no connection")
        }
        self.handle = handle
        // GRDB's observers need statements run by GRDB; these are not.
        sqlite3_commit_hook(handle, nil, nil)
        sqlite3_rollback_hook(handle, nil, nil)
        sqlite3_update_hook(handle, nil, nil)
        sqlite3_wal_hook(
            handle,
            { log, _, _, pageCount in
                log.map {
                    Unmanaged<LogLength>.fromOpaque($0).takeUnretainedValue().pageCount = Int(pageCount)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(log).toOpaque()
        )
    }

    deinit {
        for statement in statements { sqlite3_finalize(statement) }
        try? queue.close()
    }

    /// The time and the hash, so that new tokens are neighbours, and a commit writes one page for many: a third more refreshes a
    /// second, and 4 % less time for a login (`Benchmarks/README.md`).
    func key(of token: TokenDigest) -> SQLValue { .bytes(token.bytes) }

    /// Whether no transaction is open: some failures end it implicitly.
    var isOutsideTransaction: Bool { sqlite3_get_autocommit(handle) != 0 }

    /// Increases with each written row.
    var changeCount: CInt { sqlite3_total_changes(handle) }

    /// Whether the path leads to another file, or to none: writes would be lost.
    var hasMoved: Bool {
        var moved: CInt = 0
        let result = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &moved)
        return result != SQLITE_OK || moved != 0
    }

    /// The length of the write-ahead log in pages after this connection's last commit; 0 before.
    var logPageCount: Int { log.pageCount }

    /// Copies the write-ahead log into the database, as far as readers allow, without waiting for any.
    func checkpoint() throws {
        let result = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        // Another process copies it.
        guard result == SQLITE_OK || result == SQLITE_BUSY else { throw failure() }
    }

    func rows(_ queries: [SQLQuery]) throws -> [[SQLRow]] { try queries.map { try run($0) } }

    func execute(_ query: SQLQuery) throws { _ = try run(query) }

    /// Runs a text that is used only once, with GRDB.
    func run(once text: String) throws { try queue.inDatabase { try $0.execute(sql: text) } }

    private func run(_ query: SQLQuery) throws -> [SQLRow] {
        switch query.statement.returned {
        case .byItself: return try step(query)
        case .before(let reading):
            let rows = try step(SQLQuery(reading, query.values))
            if !rows.isEmpty { _ = try step(query) }
            return rows
        case .after(let reading):
            _ = try step(query)
            return try step(SQLQuery(reading, query.values))
        case .counted:
            _ = try step(query)
            return [SQLRow](repeating: SQLRow([]), count: Int(sqlite3_changes(handle)))
        }
    }

    private func step(_ query: SQLQuery) throws -> [SQLRow] {
        let statement = try compiled(query.statement)
        defer { sqlite3_reset(statement) }
        for (index, value) in query.values.prefix(Int(sqlite3_bind_parameter_count(statement))).enumerated() {
            bind(value, to: statement, CInt(index + 1))
        }
        var rows: [SQLRow] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append(SQLRow((0..<sqlite3_column_count(statement)).map { Self.column(statement, $0) }))
            case SQLITE_DONE: return rows
            default: throw failure()
            }
        }
    }

    private func compiled(_ statement: SQLStatement) throws -> OpaquePointer {
        if statement.index < statements.count, let compiled = statements[statement.index] { return compiled }
        var compiled: OpaquePointer?
        let text = statement.change.replacing("$", with: "?")
        let result = sqlite3_prepare_v3(handle, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &compiled, nil)
        guard result == SQLITE_OK, let compiled else { throw failure() }
        if statements.count <= statement.index {
            statements += [OpaquePointer?](repeating: nil, count: statement.index + 1 - statements.count)
        }
        statements[statement.index] = compiled
        return compiled
    }

    private func bind(_ value: SQLValue, to statement: OpaquePointer, _ index: CInt) {
        // SQLITE_TRANSIENT: SQLite makes a copy.
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            text.withUTF8 { utf8 in
                utf8.withMemoryRebound(to: CChar.self) { chars in
                    _ = sqlite3_bind_text(
                        statement,
                        index,
                        chars.baseAddress ?? UnsafePointer(bitPattern: 1),
                        CInt(chars.count),
                        transient
                    )
                }
            }
        case .bytes(let bytes):
            // A null pointer would be stored as NULL.
            if bytes.isEmpty {
                sqlite3_bind_zeroblob(statement, index, 0)
            } else {
                bytes.withUnsafeBytes {
                    _ = sqlite3_bind_blob(statement, index, $0.baseAddress, CInt($0.count), transient)
                }
            }
        }
    }

    private static func column(_ statement: OpaquePointer, _ index: CInt) -> SQLValue {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, index) else { return .text("") }
            let count = Int(sqlite3_column_bytes(statement, index))
            return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        case SQLITE_BLOB:
            guard let blob = sqlite3_column_blob(statement, index) else { return .bytes([]) }
            let count = Int(sqlite3_column_bytes(statement, index))
            return .bytes(Array(UnsafeRawBufferPointer(start: blob, count: count)))
        default: return .null
        }
    }

    private func failure() -> SQLiteFailure {
        SQLiteFailure(
            code: sqlite3_extended_errcode(handle),
            message: sqlite3_errmsg(handle).map { String(cString: $0) } ?? ""
        )
    }
}

/// The length of the write-ahead log, as SQLite reports it after each commit.
private final class LogLength {
    var pageCount = 0
}
