internal import CItemFiles
internal import CSQLite
internal import Glibc
internal import KeychainModel

/// The SQLite file of the items: its connection, settings, statements and errors.
@safe
final class ItemDatabase {
    /// The number of pages at which the write-ahead log is checkpointed, 4 MiB.
    static let checkpointPageCount = 4000
    /// The most pages of a log that is not checkpointed because the file is held (``isHeld``), 256 MiB.
    private static let mostHeldPageCount = 250_000
    /// The usual maximum length of the log, exceeded only by a large last change: a header, and 24 bytes before each
    /// page.
    static let longestLog = logByteCount(pages: checkpointPageCount)
    /// Registers our VFS as SQLite's default, once per process; false if that failed.
    static let hasFiles = citemfiles_register() == SQLITE_OK

    /// `sqlite3 *`, used by one thread at a time; nil once it is closed.
    private var connection: OpaquePointer?
    /// The file format.
    private(set) var version: Int
    /// The open files; nil once they are closed.
    private(set) var files: OpenedFiles?
    /// Whether the file must stay as it is, because someone reads it besides SQLite: changes are in the log only.
    var isHeld = false
    /// The length of the log in use, as of the last commit.
    private(set) var usedLogByteCount = 0
    /// Prepared statements of SQL literals, keyed by the literal's address: a dozen, found without hashing strings.
    private var statements: [(text: UnsafePointer<UInt8>, statement: ItemStatement)] = unsafe []
    /// Prepared statements whose text depends on the number of values.
    private var composed: [String: ItemStatement] = [:]

    /// Opens the existing file.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` if it does not exist or has another format, and `errSecReadOnly`
    ///   if it cannot be written; with the cause ``DriverCause/logDamaged`` if flushed records of its log are damaged or
    ///   missing. The file and its log are then unchanged.
    init(openingIn directory: StoreDirectory) throws(KeychainError) {
        let pageCount = try Self.examine(in: directory).pageCount
        version = 0
        unsafe connection = try Self.connect(directory, .items)
        do throws(KeychainError) {
            version = try Self.translatingErrors {
                try prepare()
                let version = try ItemSchema.check(self)
                // With a wrong size SQLite would take pages in use for new ones.
                guard try number("PRAGMA page_count") == pageCount else { throw KeychainError.damaged }
                try configure()
                // Reading opens the log, if the file had another journal so far.
                _ = try number("PRAGMA schema_version")
                return version
            }
            files = try OpenedFiles(.items, in: directory)
        } catch {
            shut(keepingLog: true)
            throw error
        }
        takeHook()
    }

    /// Examines the files before SQLite opens them.
    ///
    /// - Returns: the size of the file in pages, and how many of them are in the log.
    static func examine(
        in directory: StoreDirectory
    ) throws(KeychainError) -> (pageCount: Int, logged: Int) {
        // Opened read-write as SQLite would, which opens a file that is not writable and fails only at its lock.
        guard let file = try directory.openFile(StoreFile.items.rawValue, O_RDWR) else { throw .damaged }
        defer { close(file) }
        let log = try ItemLog(in: directory)
        try checkHeader(file, log)
        let judgement = log.judged(beside: file)
        guard judgement.verdict == .whole else {
            throw KeychainError(.decode, cause: .logDamaged, remedy: .check)
        }
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { throw FileError.keychainError(errno) }
        let pageCount = judgement.pageCount ?? Int(status.st_size) / ItemSchema.pageByteCount
        guard FreePages.areEmpty(pageCount: pageCount, page: { log.page($0, judgement, beside: file) }) else {
            throw .damaged
        }
        return (pageCount, judgement.pages.count)
    }

    /// Creates a new file, replacing an existing one.
    init(makingIn directory: StoreDirectory, _ name: StoreFile = .items) throws(KeychainError) {
        try directory.makeEmpty(name)
        version = ItemSchema.version
        unsafe connection = try Self.connect(directory, name)
        try Self.translatingErrors {
            try prepare()
            try ItemSchema.make(in: self)
            try configure()
            // Reading opens the log.
            _ = try number("PRAGMA schema_version")
        }
        files = try OpenedFiles(name, in: directory)
        takeHook()
        guard fsync(directory.descriptor) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Runs statements whose rows are not needed, compiled for this one use.
    func execute(_ sql: String) throws {
        guard unsafe connection != nil else { throw SQLiteError(SQLITE_MISUSE) }
        guard unsafe sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw unsafe SQLiteError(of: connection)
        }
    }

    /// The first column of the first row as a number; 0 if there is none.
    func number(_ sql: StaticString) throws -> Int {
        var number = 0
        let statement = try statement(sql)
        try statement.forEach {
            number = Int(statement.columns.number(0))
            return false
        }
        return number
    }

    /// The first column of all rows where it is text.
    func texts(_ sql: StaticString) throws -> [String] {
        var texts: [String] = []
        let statement = try statement(sql)
        try statement.forEach {
            if let text = statement.columns.text(0) { texts.append(text) }
            return true
        }
        return texts
    }

    /// Runs `body` and converts its errors: SQLite's, the store's own, or a failed authentication.
    static func translatingErrors<R>(_ body: () throws -> R) throws(KeychainError) -> R {
        do {
            return try body()
        } catch {
            throw KeychainError(inStore: error)
        }
    }

    /// The prepared statement of a literal; it must not be used while it is at one of its rows.
    func statement(_ sql: StaticString) throws -> ItemStatement {
        let text = unsafe sql.utf8Start
        if let compiled = unsafe statements.first(where: { unsafe $0.text == text }) {
            return unsafe compiled.statement
        }
        let statement = unsafe try ItemStatement(sql.description, on: connection)
        unsafe statements.append((text, statement))
        return statement
    }

    /// ``statement(_:)`` for a composed text.
    func statement(composed sql: String) throws -> ItemStatement {
        if let statement = composed[sql] { return statement }
        let statement = unsafe try ItemStatement(sql, on: connection)
        composed[sql] = statement
        return statement
    }

    /// Runs `body` in a transaction; rolls back if it returns false or throws.
    func transaction(_ body: () throws -> Bool) throws(KeychainError) {
        try Self.translatingErrors {
            try statement("BEGIN IMMEDIATE").run()
            do {
                try (try body() ? statement("COMMIT") : statement("ROLLBACK")).run()
            } catch {
                // Some failures have rolled it back already.
                if isInsideTransaction { try? statement("ROLLBACK").run() }
                throw error
            }
        }
    }

    /// Refuses to go on while the names of the files lead to others.
    ///
    /// - Throws: ``KeychainError`` with ``KnownCause/filesReplaced``.
    func checkPlace() throws(KeychainError) {
        if isReplaced { throw .filesReplaced }
    }

    /// Whether the names of the open files lead to others.
    var isReplaced: Bool { files.map { !$0.areInPlace } ?? false }

    /// How many rows were added, changed or removed since the file was opened.
    var changeCount: Int64 { unsafe connection == nil ? 0 : sqlite3_total_changes64(connection) }

    /// Sets the file format; inside a transaction.
    func set(version: Int) throws {
        try statement(composed: "PRAGMA user_version = \(ItemSchema.userVersion(of: version))").run()
    }

    /// Call this after the transaction of ``set(version:)`` is durable.
    func hasSet(version: Int) { self.version = version }

    /// Reads the first bytes of a row's data without reading the rest.
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

    /// Checkpoints the write-ahead log and empties it, so that deleted records are in neither file.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` while the file is held (``isHeld``).
    func checkpoint() throws(KeychainError) {
        if isHeld { throw KeychainError(.notAvailable, cause: .interrupted) }
        try Self.translatingErrors { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    }

    /// Writes the used content of the file, without free pages, to an empty file; not flushed.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` as soon as `isAwaited` returns true.
    func write(
        copyTo path: String,
        unless isAwaited: @escaping @Sendable () -> Bool
    ) throws(KeychainError) {
        try interruptible(by: isAwaited) { () throws(KeychainError) in
            try Self.translatingErrors { try execute("VACUUM INTO '\(path.replacing("'", with: "''"))'") }
        }
    }

    /// Runs `body`, whose statements end early once `isAwaited`, which another thread asks, returns true.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` if they did.
    func interruptible<R>(
        by isAwaited: @escaping @Sendable () -> Bool,
        _ body: () throws(KeychainError) -> R
    ) throws(KeychainError) -> R {
        guard let connection = unsafe connection else {
            throw KeychainError(inStore: SQLiteError(SQLITE_MISUSE))
        }
        let interrupter = unsafe StatementInterrupter(connection, isAwaited)
        do throws(KeychainError) {
            let result = try body()
            // A check that was cut short may have answered with what it did not see.
            if !interrupter.end() { return result }
        } catch {
            if !interrupter.end() { throw error }
        }
        throw KeychainError(.notAvailable, cause: .interrupted)
    }

    /// Closes the file; best effort, because SQLite recovers the log when it is opened again.
    ///
    /// - Parameter keepingLog: whether both files stay as they are; otherwise the log is written back and removed.
    func shut(keepingLog: Bool = false) {
        // Statements must be finalised before their connection is closed.
        unsafe statements = []
        composed = [:]
        // SQLite removes the log by its name, which may lead to another file by now.
        if keepingLog || isReplaced { _ = unsafe citemfiles_keep_log(connection) }
        unsafe sqlite3_close_v2(connection)
        unsafe connection = nil
        files = nil
    }

    deinit { shut() }

    private static func logByteCount(pages: Int) -> Int { 32 + pages * (24 + ItemSchema.pageByteCount) }

    // MARK: Opening

    /// Compares the file's first bytes (sqlite.org/fileformat2, section 1.3) with those that every items file has, without
    /// SQLite: a newer file is not changed even by a recovery, and with some wrong bytes SQLite would ignore the log.
    private static func checkHeader(_ file: CInt, _ log: ItemLog) throws(KeychainError) {
        var header = [UInt8](repeating: 0, count: 100)
        let count = unsafe pread(file, &header, header.count, 0)
        guard count >= 0 else { throw FileError.keychainError(errno) }
        guard count == header.count, Array(header[..<16]) == Array("SQLite format 3\u{0}".utf8) else {
            throw .damaged
        }
        let version = TableLeaf.number(header, 60)
        if ItemSchema.isNewer(version) { throw .newerFormat }
        let isLogged = header[18] == 2 && header[19] == 2
        // A file that was written anew has never had a log.
        let isFresh = header[18] == 1 && header[19] == 1 && log.isBlank
        guard ItemSchema.version(of: version) != nil,
            header[16...17].elementsEqual([ItemSchema.pageByteCount >> 8, 0].map { UInt8($0) }),
            isLogged || isFresh,
            // No reserved bytes, and the fractions of a page that every file has.
            header[20..<24].elementsEqual([0, 64, 32, 32]),
            // Schema format 4, no default cache size, no vacuum of its own, UTF-8.
            header[44..<60].elementsEqual([0, 0, 0, 4] + [0, 0, 0, 0] + [0, 0, 0, 0] + [0, 0, 0, 1]),
            header[64..<68].allSatisfy({ $0 == 0 }),
            TableLeaf.number(header, 68) == UInt32(ItemSchema.applicationID),
            header[72..<92].allSatisfy({ $0 == 0 })
        else { throw .damaged }
    }

    private static func connect(
        _ directory: StoreDirectory,
        _ name: StoreFile
    ) throws(KeychainError) -> OpaquePointer? {
        guard hasFiles else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "vfs"))
        }
        var connection: OpaquePointer?
        // Without SQLITE_OPEN_CREATE: the file exists. Without a mutex: one thread uses the connection at a time.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX
        let result = unsafe sqlite3_open_v2(directory.path + "/" + name.rawValue, &connection, flags, nil)
        guard result == SQLITE_OK else {
            let error = unsafe SQLiteError(of: connection)
            unsafe sqlite3_close_v2(connection)
            throw KeychainError(inStore: error)
        }
        return unsafe connection
    }

    /// Applies the settings needed before the file is read.
    private func prepare() throws {
        // Keeps the log's index in this process's memory instead of a file.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        try execute("PRAGMA trusted_schema = OFF")
        try execute("PRAGMA cell_size_check = ON")
        try execute("PRAGMA mmap_size = 0")
    }

    /// Replaces SQLite's commit hook: its own checkpoints at the same size, but does not report the length of the log.
    private func takeHook() {
        let itself = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe sqlite3_wal_hook(
            connection,
            { database, connection, name, pageCount in
                guard let database = unsafe database else { return SQLITE_ERROR }
                let itself = unsafe Unmanaged<ItemDatabase>.fromOpaque(database).takeUnretainedValue()
                itself.usedLogByteCount = ItemDatabase.logByteCount(pages: Int(pageCount))
                if pageCount >= ItemDatabase.mostHeldPageCount { itself.isHeld = false }
                if pageCount >= ItemDatabase.checkpointPageCount, !itself.isHeld {
                    // A failure is retried after the next commit.
                    unsafe sqlite3_wal_checkpoint(connection, name)
                }
                return SQLITE_OK
            },
            itself
        )
    }

    /// Applies the settings that durability and hardening depend on, and reads them back.
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
            // In KiB. SQLite's default is twice that and costs 1 MB of resident memory; look-ups, lists and changes among
            // 10,000 and 100,000 items are as fast, since the kernel caches the file too.
            ("cache_size", "-1024", "-1024"),
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
        // Returns no row if memory mapping is compiled out.
        guard try setting("mmap_size") ?? "0" == "0" else {
            throw KeychainError(.internalComponent, cause: DriverCause(domain: "sqlite", code: "mmap_size"))
        }
    }

    /// The value of a pragma as text; nil if it returns no row.
    private func setting(_ pragma: String) throws -> String? {
        let statement = unsafe try ItemStatement("PRAGMA \(pragma)", on: connection)
        guard try statement.step() else { return nil }
        return statement.columns.text(0) ?? "\(statement.columns.number(0))"
    }
}
