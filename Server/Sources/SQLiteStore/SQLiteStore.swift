public import AccountStore
internal import Foundation
internal import GRDB
internal import SQLAccountStore

/// A store in an SQLite file: nothing to install, several processes of one machine at a time.
public enum SQLiteStore {
    /// How the file is used.
    public struct Configuration: Sendable {
        /// How durable a commit is.
        public enum Synchronous: String, Sendable, CaseIterable {
            /// It survives the loss of power.
            case full
            /// It survives the end of the process; a loss of power may take the last commits, never the whole.
            case normal
        }

        /// The file's path.
        public var path: String
        /// How durable a commit is.
        public var synchronous: Synchronous
        /// How many look-ups go on at a time.
        public var readerCount: Int
        /// How long an operation takes at most; then it fails with ``StoreError/Code/unavailable``.
        public var timeout: Duration
        /// How many operations wait at most; then the next fails with ``StoreError/Code/overloaded``.
        public var mostWaiting: Int

        /// Describes a use.
        public init(
            path: String,
            synchronous: Synchronous = .full,
            readerCount: Int = 4,
            timeout: Duration = .seconds(5),
            mostWaiting: Int = 4096
        ) {
            self.path = path
            self.synchronous = synchronous
            self.readerCount = readerCount
            self.timeout = timeout
            self.mostWaiting = mostWaiting
        }
    }

    /// Makes the file, if it is not there, and brings its tables to this program's version.
    ///
    /// - Returns: the versions before and after; 0: there was none.
    /// - Throws: ``StoreError/Code/newerSchema`` for a file of a later version, which stays as it is.
    @discardableResult
    public static func migrate(_ configuration: Configuration) throws(StoreError) -> (from: Int, to: Int) {
        do {
            guard let file = fopen(configuration.path, "a") else {
                throw StoreError(
                    .unavailable,
                    cause: "\(configuration.path): \(String(cString: strerror(errno)))"
                )
            }
            fclose(file)
            // Hashes of passwords and of tokens are in it.
            guard chmod(configuration.path, 0o600) == 0 else {
                throw StoreError(
                    .unavailable,
                    cause: "\(configuration.path): \(String(cString: strerror(errno)))"
                )
            }
            let connection = try SQLiteConnection(configuration.path, .touchstone(configuration))
            return try SQLiteSchema.migrate(connection)
        } catch {
            throw SQLiteFailure.storeError(error)
        }
    }

    /// Opens a file of this program's version.
    ///
    /// - Returns: the store; it is to be closed.
    /// - Throws: ``StoreError/Code/notMigrated``, ``StoreError/Code/newerSchema``, ``StoreError/Code/unavailable``.
    public static func open(_ configuration: Configuration) throws(StoreError) -> any AccountStore {
        // There is one writer, so nothing below a position is still being written.
        SQLStore(try SQLiteEngine(configuration), settled: "position > 0")
    }
}

/// The file's version and how it gets another.
enum SQLiteSchema {
    private static let table = SQLStatement(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'"
    )
    private static let version = SQLStatement("SELECT version FROM schema_version")

    static func check(_ connection: SQLiteConnection) throws {
        try Schema.check(try found(connection))
    }

    /// Nil: there is no table of versions, or it is empty.
    static func found(_ connection: SQLiteConnection) throws -> Int? {
        guard try connection.row(table) != nil, var row = try connection.row(version) else { return nil }
        return Int(try row.integer())
    }

    static func migrate(_ connection: SQLiteConnection) throws -> (from: Int, to: Int) {
        try connection.run(once: "BEGIN IMMEDIATE")
        do {
            let old = try found(connection) ?? 0
            guard old <= Schema.version else {
                try Schema.check(old)
                return (old, old)
            }
            let dialect = Schema.Dialect.sqlite
            for text in Schema.statements(from: old, dialect) { try connection.run(once: text) }
            try connection.run(once: dialect.translate(Schema.versionTable))
            try connection.run(once: "DELETE FROM schema_version")
            try connection.run(once: "INSERT INTO schema_version VALUES (\(Schema.version))")
            try connection.run(once: "COMMIT")
            return (old, Schema.version)
        } catch {
            if !connection.isOutsideTransaction { try? connection.run(once: "ROLLBACK") }
            throw error
        }
    }
}

extension GRDB.Configuration {
    /// The write-ahead log is written back at this many pages, 4 MiB: nobody is answered meanwhile.
    private static let checkpointPageCount = 1000
    /// KiB of pages that the writer keeps in memory.
    private static let cacheKiB = 32 * 1024

    static func touchstone(_ settings: SQLiteStore.Configuration, readonly: Bool = false) -> Self {
        var configuration = Self()
        configuration.busyMode = .timeout(Double(settings.timeout.milliseconds) / 2000)
        configuration.readonly = readonly
        // Transactions are ours.
        configuration.allowsUnsafeTransactions = true
        configuration.label = "touchstone.accounts"
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cell_size_check = ON")
            try database.execute(sql: "PRAGMA cache_size = -\(readonly ? cacheKiB / 8 : cacheKiB)")
            guard !readonly else { return }
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = \(settings.synchronous.rawValue)")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpointPageCount)")
        }
        return configuration
    }
}
