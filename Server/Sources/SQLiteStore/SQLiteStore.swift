public import AccountStore
internal import Foundation
internal import GRDB
internal import SQLAccountStore

/// A store in an SQLite file: nothing to install, for several processes of one machine.
public enum SQLiteStore {
    /// How to use the file.
    public struct Configuration: Sendable {
        /// How durable a commit is.
        public enum Synchronous: String, Sendable, CaseIterable {
            /// It survives a loss of power.
            case full
            /// It survives the end of the process; a loss of power may lose the last commits, but never corrupts the
            /// file.
            case normal
        }

        /// The file's path.
        public var path: String
        /// How durable a commit is.
        public var synchronous: Synchronous
        /// The number of concurrent readers.
        public var readerCount: Int
        /// The maximum duration of an operation; then it fails with ``StoreError/Code/unavailable``.
        public var timeout: Duration
        /// The maximum number of waiting operations; a further one fails with ``StoreError/Code/overloaded``.
        public var mostWaiting: Int

        /// Creates a configuration.
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

    /// Creates the file if it does not exist, and migrates its tables to this program's version.
    ///
    /// - Returns: the versions before and after; 0: there were no tables.
    /// - Throws: ``StoreError/Code/newerSchema`` for a file of a later version, which stays unchanged.
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
            // It contains hashes of passwords and tokens.
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
    /// - Returns: the store, which the caller has to close.
    /// - Throws: ``StoreError/Code/notMigrated``, ``StoreError/Code/newerSchema``, ``StoreError/Code/unavailable``.
    public static func open(_ configuration: Configuration) throws(StoreError) -> any AccountStore {
        // There is one writer, so no lower position is still being written.
        SQLStore(try SQLiteEngine(configuration), settled: "position > 0")
    }
}

/// The file's schema version and its migration.
enum SQLiteSchema {
    private static let table = SQLStatement(
        "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'"
    )
    private static let version = SQLStatement("SELECT version FROM schema_version")

    static func check(_ connection: SQLiteConnection) throws {
        try Schema.check(try found(connection))
    }

    /// The schema version; nil: there is no table of versions, or it is empty.
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
    /// The writer's page cache in KiB.
    private static let cacheKiB = 32 * 1024

    static func touchstone(_ settings: SQLiteStore.Configuration, readonly: Bool = false) -> Self {
        var configuration = Self()
        configuration.busyMode = .timeout(Double(settings.timeout.milliseconds) / 2000)
        configuration.readonly = readonly
        // The transactions are managed by us, not by GRDB.
        configuration.allowsUnsafeTransactions = true
        configuration.label = "touchstone.accounts"
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA cell_size_check = ON")
            try database.execute(sql: "PRAGMA cache_size = -\(readonly ? cacheKiB / 8 : cacheKiB)")
            guard !readonly else { return }
            try database.execute(sql: "PRAGMA journal_mode = WAL")
            try database.execute(sql: "PRAGMA synchronous = \(settings.synchronous.rawValue)")
            // The writer's own: ``CheckpointPace``.
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        }
        return configuration
    }
}
