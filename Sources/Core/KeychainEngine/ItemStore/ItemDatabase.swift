internal import CItemFiles
internal import CSQLite
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

    /// `sqlite3 *`, used by one thread at a time; nil once it is closed.
    private var connection: OpaquePointer?
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
        version = 0
        unsafe connection = try Self.connect(directory, name)
        version = try Self.translatingErrors {
            try prepare()
            let version = try ItemSchema.check(self)
            try configure()
            return version
        }
        takeHook()
    }

    /// Makes a new file in the place of whatever is there.
    init(makingIn directory: StoreDirectory, _ name: StoreFile = .items) throws(KeychainError) {
        try directory.makeEmpty(name)
        version = ItemSchema.tagsVersion
        unsafe connection = try Self.connect(directory, name)
        try Self.translatingErrors {
            try prepare()
            try ItemSchema.make(in: self)
            try configure()
        }
        takeHook()
        guard fsync(directory.descriptor) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Runs statements that answer with nothing that is wanted, compiled for this once.
    func execute(_ sql: String) throws {
        guard unsafe connection != nil else { throw SQLiteError(SQLITE_MISUSE) }
        guard unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw unsafe SQLiteError(of: connection)
        }
    }

    /// The first column of the first row, as a number; 0 where there is none.
    func number(_ sql: StaticString) throws -> Int {
        var number = 0
        let statement = try statement(sql)
        try statement.forEach {
            number = Int(statement.columns.number(0))
            return false
        }
        return number
    }

    /// The first column of all rows that have a text there.
    func texts(_ sql: StaticString) throws -> [String] {
        var texts: [String] = []
        let statement = try statement(sql)
        try statement.forEach {
            if let text = statement.columns.text(0) { texts.append(text) }
            return true
        }
        return texts
    }

    /// Runs `body`, whose errors may be SQLite's, ours, or that something is not authentic.
    static func translatingErrors<R>(_ body: () throws -> R) throws(KeychainError) -> R {
        do {
            return try body()
        } catch {
            throw KeychainError(inStore: error)
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
        guard unsafe connection != nil else { throw SQLiteError(SQLITE_MISUSE) }
        var blob: OpaquePointer?
        var result = unsafe sqlite3_blob_open(connection, "main", "items", "data", row, 0, &blob)
        defer { unsafe sqlite3_blob_close(blob) }
        var octets = [UInt8](repeating: 0, count: count)
        if result == SQLITE_OK {
            result = unsafe octets.withUnsafeMutableBytes {
                unsafe sqlite3_blob_read(blob, $0.baseAddress, CInt(count), 0)
            }
        }
        guard result == SQLITE_OK else { throw SQLiteError(result) }
        return octets
    }

    /// Whether a transaction is open.
    var isInsideTransaction: Bool { unsafe connection != nil && sqlite3_get_autocommit(connection) == 0 }

    /// Brings the write-ahead log into the file and empties it, so that deleted records are gone from both.
    func checkpoint() throws(KeychainError) {
        try Self.translatingErrors { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    }

    /// Writes all that the file holds, without what is free in it, to an empty file; not flushed.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` once `isAwaited` says so.
    func write(copyTo path: String, unless isAwaited: () -> Bool) throws(KeychainError) {
        guard unsafe connection != nil else { throw KeychainError(inStore: SQLiteError(SQLITE_MISUSE)) }
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
        guard result == SQLITE_OK else { throw KeychainError(inStore: unsafe SQLiteError(of: connection)) }
    }

    private final class Question {
        let ask: () -> Bool
        init(_ ask: @escaping () -> Bool) { self.ask = ask }
    }

    /// Closes the file; best effort, because SQLite recovers what is left.
    func shut() {
        // They have to go before the connection that they belong to.
        unsafe statements = []
        composed = [:]
        unsafe sqlite3_close_v2(connection)
        unsafe connection = nil
    }

    deinit { shut() }

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
    ) throws(KeychainError) -> OpaquePointer? {
        guard hasFiles else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "vfs"))
        }
        var connection: OpaquePointer?
        // Without SQLITE_OPEN_CREATE: the file is there. Without a mutex: there is one user at a time.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        let result = unsafe sqlite3_open_v2(directory.path + "/" + name.rawValue, &connection, flags, nil)
        guard result == SQLITE_OK else {
            let error = unsafe SQLiteError(of: connection)
            unsafe sqlite3_close_v2(connection)
            throw KeychainError(inStore: error)
        }
        return unsafe connection
    }

    /// What has to be settled before the first look at the file.
    private func prepare() throws {
        // Then the log's index is in our memory, not in a file.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try execute("PRAGMA trusted_schema = OFF")
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA mmap_size = 0")
    }

    /// Takes over what is called at commits: SQLite's own hook writes the log back as this one does, and does not tell how
    /// far it is filled.
    private func takeHook() {
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
    private func configure() throws {
        let wanted: [(name: String, value: String, reads: String)] = [
            ("journal_mode", "WAL", "wal"),
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
            try execute("PRAGMA \(pragma.name) = \(pragma.value)")
            guard try setting(pragma.name) == pragma.reads else {
                throw KeychainError(
                    .internalComponent,
                    cause: DriverCause(domain: "sqlite", code: pragma.name)
                )
            }
        }
        // Answered with no row where memory mapping is compiled out.
        guard try setting("mmap_size") ?? "0" == "0" else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "mmap_size"))
        }
    }

    /// What a pragma is set to, as text; nil where it answers with no row.
    private func setting(_ pragma: String) throws -> String? {
        let statement = unsafe try ItemStatement("PRAGMA \(pragma)", on: connection)
        guard try statement.step() else { return nil }
        return statement.columns.text(0) ?? "\(statement.columns.number(0))"
    }
}
