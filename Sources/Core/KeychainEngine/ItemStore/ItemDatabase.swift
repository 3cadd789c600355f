internal import CItemFiles
internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import KeychainModel

/// The SQLite file: how it is opened, and what its errors mean.
@safe
final class ItemDatabase {
    /// The write-ahead log is written back at this many pages, 4 MiB.
    static let checkpointPageCount = 4000
    /// As long as the log gets, but for a large last change: a header, and 24 bytes before each page.
    static let longestLog = logByteCount(pages: checkpointPageCount)
    /// Whether SQLite goes to its files as it is to; done at the first use, by one thread.
    static let hasFiles = citemfiles_register() == SQLITE_OK

    private let queue: DatabaseQueue
    /// The queue's own connection: whoever owns the store runs one thing at a time already.
    private let connection: OpaquePointer
    /// The file's format.
    private(set) var version: Int
    /// How far the log is filled: what its last commit said.
    private(set) var usedLogByteCount = 0
    /// Those whose text is in the program, by where it is there: a dozen, found without hashing texts.
    private var statements: [(text: UnsafePointer<UInt8>, statement: ItemStatement)] = unsafe []
    /// Those whose text depends on how many values are looked for.
    private var composed: [String: ItemStatement] = [:]

    /// Opens the file that is there.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` where there is none, or it is not what this program makes, and
    ///   `errSecReadOnly` where it cannot be written; with the cause ``DriverCause/logDamaged`` where its log was flushed
    ///   and is not what was written: then SQLite was not given either, and both are as they were.
    init(openingIn directory: StoreDirectory, _ name: StoreFile = .items) throws(KeychainError) {
        // As SQLite will open it, which would take a file that cannot be written and fail at its lock.
        guard let file = try directory.openFile(name.rawValue, O_RDWR) else { throw .damaged }
        defer { close(file) }
        try Self.checkVersion(file)
        if name == .items, try ItemLog.verdict(in: directory) == .damaged {
            throw KeychainError(.decode, cause: .logDamaged, remedy: .check)
        }
        queue = try Self.connect(directory, name)
        unsafe connection = try Self.connection(of: queue)
        version = 0
        version = try perform { database in
            let version = try ItemSchema.check(database)
            try Self.configure(database)
            return version
        }
        takeHooks()
    }

    /// Makes a new file in the place of whatever is there.
    init(makingIn directory: StoreDirectory, _ name: StoreFile = .items) throws(KeychainError) {
        try directory.makeEmpty(name)
        queue = try Self.connect(directory, name)
        unsafe connection = try Self.connection(of: queue)
        version = ItemSchema.tagsVersion
        try perform { database in
            try ItemSchema.make(in: database)
            try Self.configure(database)
        }
        takeHooks()
        guard fsync(directory.descriptor) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Runs `body` with GRDB's view of the connection; no transaction is opened for it.
    func perform<R>(_ body: (Database) throws -> R) throws(KeychainError) -> R {
        try Self.translatingErrors { try queue.inDatabase(body) }
    }

    /// Runs `body`, whose errors may be SQLite's, ours, or that something is not authentic.
    static func translatingErrors<R>(_ body: () throws -> R) throws(KeychainError) -> R {
        do {
            return try body()
        } catch {
            throw keychainError(error)
        }
    }

    /// A statement that is compiled once; none is used while it is still at one of its rows.
    func statement(_ sql: StaticString) throws -> ItemStatement {
        let text = unsafe sql.utf8Start
        if let compiled = unsafe statements.first(where: { unsafe $0.text == text }) {
            return unsafe compiled.statement
        }
        let statement = unsafe try ItemStatement(sql.description, on: connection)
        unsafe statements.append((text, statement))
        return statement
    }

    /// ``statement(_:)`` for a text that is put together.
    func statement(composed sql: String) throws -> ItemStatement {
        if let statement = composed[sql] { return statement }
        let statement = unsafe try ItemStatement(sql, on: connection)
        composed[sql] = statement
        return statement
    }

    /// Runs `body` in a transaction, which is rolled back when it returns false or throws.
    func transaction(_ body: () throws -> Bool) throws(KeychainError) {
        try Self.translatingErrors {
            try statement("BEGIN IMMEDIATE").run()
            do {
                try (try body() ? statement("COMMIT") : statement("ROLLBACK")).run()
            } catch {
                // Some failures have ended it already.
                if isInsideTransaction { try? statement("ROLLBACK").run() }
                throw error
            }
        }
    }

    /// Runs `body` as a part of a transaction that can be taken back alone.
    func savepoint(_ body: () throws -> Void) throws {
        try statement("SAVEPOINT part").run()
        do {
            try body()
        } catch {
            if isInsideTransaction {
                try statement("ROLLBACK TO part").run()
                try statement("RELEASE part").run()
            }
            throw error
        }
        try statement("RELEASE part").run()
    }

    /// Takes the file to another format; inside a transaction.
    func set(version: Int) throws {
        try statement(composed: "PRAGMA user_version = \(version)").run()
    }

    /// The transaction that called ``set(version:)`` is durable.
    func hasSet(version: Int) { self.version = version }

    /// The first bytes of a row's data, without those behind them.
    func startOfData(of row: Int64, count: Int) throws -> [UInt8] {
        var blob: OpaquePointer?
        var result = unsafe sqlite3_blob_open(connection, "main", "items", "data", row, 0, &blob)
        defer { unsafe sqlite3_blob_close(blob) }
        var octets = [UInt8](repeating: 0, count: count)
        if result == SQLITE_OK {
            result = unsafe octets.withUnsafeMutableBytes {
                unsafe sqlite3_blob_read(blob, $0.baseAddress, CInt(count), 0)
            }
        }
        guard result == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
        return octets
    }

    /// Whether a transaction is open.
    var isInsideTransaction: Bool { unsafe sqlite3_get_autocommit(connection) == 0 }

    /// Brings the write-ahead log into the file and empties it, so that deleted records are gone from both.
    func checkpoint() throws(KeychainError) {
        try perform { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
    }

    /// Writes all that the file holds, without what is free in it, to an empty file; not flushed.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` once `isAwaited` says so.
    func write(copyTo path: String, unless isAwaited: () -> Bool) throws(KeychainError) {
        let result = withoutActuallyEscaping(isAwaited) { isAwaited in
            let question = Question(isAwaited)
            let asked = unsafe Unmanaged.passUnretained(question).toOpaque()
            defer { unsafe sqlite3_progress_handler(connection, 0, nil, nil) }
            unsafe sqlite3_progress_handler(
                connection,
                1000,
                { asked in
                    guard let asked = unsafe asked else { return 0 }
                    return unsafe Unmanaged<Question>.fromOpaque(asked).takeUnretainedValue().ask() ? 1 : 0
                },
                asked
            )
            return withExtendedLifetime(question) {
                unsafe sqlite3_exec(
                    connection,
                    "VACUUM INTO '\(path.replacing("'", with: "''"))'",
                    nil,
                    nil,
                    nil
                )
            }
        }
        guard result != SQLITE_INTERRUPT else { throw KeychainError(.notAvailable, cause: .interrupted) }
        guard result == SQLITE_OK else {
            throw Self.keychainError(DatabaseError(resultCode: ResultCode(rawValue: result)))
        }
    }

    private final class Question {
        let ask: () -> Bool
        init(_ ask: @escaping () -> Bool) { self.ask = ask }
    }

    /// Closes the file; best effort, because SQLite recovers what is left.
    func shut() {
        letGoOfStatements()
        try? queue.close()
    }

    deinit {
        letGoOfStatements()
    }

    /// Has to come before the end of the connection that they belong to.
    private func letGoOfStatements() {
        unsafe statements = []
        composed = [:]
    }

    private static func logByteCount(pages: Int) -> Int { 32 + pages * (24 + ItemSchema.pageByteCount) }

    // MARK: Opening

    /// Reads the format's number without SQLite, so that a newer file is not touched by so much as a recovery.
    private static func checkVersion(_ file: CInt) throws(KeychainError) {
        var header = [UInt8](repeating: 0, count: 100)
        guard unsafe pread(file, &header, header.count, 0) == header.count else { throw .damaged }
        // "The 'user version' as read and set by the user_version pragma": bytes 60 to 63 of the file.
        let version = header[60..<64].reduce(0) { $0 << 8 | Int($1) }
        guard Array(header.prefix(16)) == Array("SQLite format 3\u{0}".utf8) else { throw .damaged }
        guard version <= ItemSchema.version else { throw .newerFormat }
    }

    private static func connect(
        _ directory: StoreDirectory,
        _ name: StoreFile
    ) throws(KeychainError) -> DatabaseQueue {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .immediateError
        // The transactions are ours, and SQLite may be asked about its structures in the middle of one.
        configuration.allowsUnsafeTransactions = true
        configuration.label = "touchstone.items"
        configuration.prepareDatabase { database in
            // Before the first look at the file: then the log's index is in our memory, not in a file.
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cell_size_check = ON")
            try database.execute(sql: "PRAGMA mmap_size = 0")
        }
        guard hasFiles else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "vfs"))
        }
        do {
            return try DatabaseQueue(path: directory.path + "/" + name.rawValue, configuration: configuration)
        } catch {
            throw keychainError(error)
        }
    }

    private static func connection(of queue: DatabaseQueue) throws(KeychainError) -> OpaquePointer {
        guard let connection = unsafe queue.inDatabase({ unsafe $0.sqliteConnection }) else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "closed"))
        }
        return unsafe connection
    }

    /// Takes over what is called at commits.
    ///
    /// GRDB cannot follow those of statements that it did not make. SQLite's own hook writes the log back as this one
    /// does, and does not tell how far it is filled.
    private func takeHooks() {
        unsafe sqlite3_commit_hook(connection, nil, nil)
        unsafe sqlite3_rollback_hook(connection, nil, nil)
        let itself = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe sqlite3_wal_hook(
            connection,
            { database, connection, name, pageCount in
                guard let database = unsafe database else { return SQLITE_ERROR }
                let itself = unsafe Unmanaged<ItemDatabase>.fromOpaque(database).takeUnretainedValue()
                itself.usedLogByteCount = ItemDatabase.logByteCount(pages: Int(pageCount))
                if pageCount >= ItemDatabase.checkpointPageCount {
                    // What fails is tried again after the next commit.
                    unsafe sqlite3_wal_checkpoint(connection, name)
                }
                return SQLITE_OK
            },
            itself
        )
    }

    /// Sets what durability and hardening rest on, and reads it back.
    private static func configure(_ database: Database) throws {
        let wanted: [(name: String, value: String, reads: String)] = [
            ("journal_mode", "WAL", "wal"),
            // GRDB leaves NORMAL, which loses acknowledged changes with the power.
            ("synchronous", "FULL", "2"),
            ("secure_delete", "ON", "1"),
            ("trusted_schema", "OFF", "0"),
            ("cell_size_check", "ON", "1"),
            ("foreign_keys", "ON", "1"),
            ("writable_schema", "OFF", "0"),
            ("temp_store", "MEMORY", "2"),
            ("locking_mode", "EXCLUSIVE", "exclusive"),
            ("cache_size", "-2048", "-2048"),
        ]
        for pragma in wanted {
            _ = try Row.fetchAll(database, sql: "PRAGMA \(pragma.name) = \(pragma.value)")
            let found = try DatabaseValue.fetchOne(database, sql: "PRAGMA \(pragma.name)")
            let text = found.flatMap {
                String.fromDatabaseValue($0) ?? Int.fromDatabaseValue($0).map(String.init)
            }
            guard text == pragma.reads else {
                throw KeychainError(
                    .internalComponent,
                    cause: DriverCause(domain: "sqlite", code: pragma.name)
                )
            }
        }
        // Answered with no row where memory mapping is compiled out.
        guard try Int.fetchOne(database, sql: "PRAGMA mmap_size") ?? 0 == 0 else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "mmap_size"))
        }
    }

    // MARK: Errors

    static func keychainError(_ error: any Error) -> KeychainError {
        if let error = error as? KeychainError { return error }
        guard let error = error as? DatabaseError else {
            return KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "unknown"))
        }
        let cause = DriverCause(domain: "sqlite", code: "\(error.extendedResultCode.rawValue)")
        switch error.resultCode {
        case .SQLITE_FULL: return KeychainError(.diskFull, cause: cause)
        case .SQLITE_IOERR: return KeychainError(.io, cause: cause)
        case .SQLITE_READONLY, .SQLITE_PERM: return KeychainError(.readOnly, cause: cause)
        // Our statements and the schema are known good: SQLITE_ERROR is a header that SQLite cannot follow.
        case .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_MISMATCH, .SQLITE_ERROR: return .damaged
        case .SQLITE_NOMEM: return KeychainError(.allocate, cause: cause)
        case .SQLITE_CONSTRAINT: return KeychainError(.duplicateItem, cause: cause)
        case .SQLITE_TOOBIG: return KeychainError(.dataTooLarge, cause: cause)
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_CANTOPEN: return KeychainError(.notAvailable, cause: cause)
        default: return KeychainError(.internalComponent, cause: cause)
        }
    }
}
