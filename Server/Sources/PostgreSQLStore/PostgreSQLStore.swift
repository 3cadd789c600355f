public import AccountStore
internal import Dispatch
internal import SQLAccountStore

/// A store in a PostgreSQL database, of version 13 or later: any number of server processes on any number of machines.
public enum PostgreSQLStore {
    /// How to reach the database.
    public struct Configuration: Sendable {
        /// A connection string for libpq: `host=/run/postgresql dbname=touchstone`, or `postgresql://…`.
        public var conninfo: String
        /// The maximum number of connections of this process.
        public var connectionCount: Int
        /// The maximum duration of an operation; then it fails with ``StoreError/Code/unavailable``.
        public var timeout: Duration
        /// The maximum number of waiting operations; a further one fails with ``StoreError/Code/overloaded``.
        public var mostWaiting: Int
        /// Gets a message for the log when the store finds something that an administrator should know, such as a pooler
        /// in transaction mode.
        public var notice: @Sendable (String) -> Void

        /// Creates a configuration.
        public init(
            conninfo: String,
            connectionCount: Int = 8,
            timeout: Duration = .seconds(5),
            mostWaiting: Int = 4096,
            notice: @escaping @Sendable (String) -> Void = { _ in }
        ) {
            self.conninfo = conninfo
            self.connectionCount = connectionCount
            self.timeout = timeout
            self.mostWaiting = mostWaiting
            self.notice = notice
        }
    }

    /// Migrates the tables of an existing database to this program's version; blocks until it is done.
    ///
    /// - Returns: the versions before and after; 0: there were no tables.
    /// - Throws: ``StoreError/Code/newerSchema`` for a database of a later version, which stays unchanged.
    @discardableResult
    public static func migrate(_ configuration: Configuration) throws(StoreError) -> (from: Int, to: Int) {
        do {
            let deadline = DispatchTime.now() + .milliseconds(Int(configuration.timeout.milliseconds))
            let connection = try PostgreSQLConnection(
                configuration.conninfo,
                StatementPreparation(isPossible: false, notice: configuration.notice),
                deadline: deadline
            )
            // A migration has no time limit.
            connection.deadline = .distantFuture
            return try PostgreSQLSchema.migrate(connection)
        } catch {
            throw PostgreSQLFailure.storeError(error)
        }
    }

    /// Opens a database of this program's version; blocks until there is one connection.
    ///
    /// - Returns: the store, which the caller has to close.
    /// - Throws: ``StoreError/Code/notMigrated``, ``StoreError/Code/newerSchema``, ``StoreError/Code/unavailable``.
    public static func open(_ configuration: Configuration) throws(StoreError) -> any AccountStore {
        SQLStore(
            try PostgreSQLEngine(configuration),
            settled: "position < (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << 20)"
        )
    }
}

/// The database's schema version and its migration.
enum PostgreSQLSchema {
    private static let version = SQLStatement("SELECT version FROM schema_version")
    /// Serialises concurrent migrations; the lock's number is arbitrary.
    private static let lock = SQLStatement("SELECT 1 FROM (SELECT pg_advisory_xact_lock(7470531)) AS taken")

    /// The schema version; nil: the table of versions is empty.
    static func found(_ connection: any SQLConnection) throws -> Int? {
        guard var row = try connection.row(version) else { return nil }
        return Int(try row.integer())
    }

    static func migrate(_ connection: PostgreSQLConnection) throws -> (from: Int, to: Int) {
        try connection.run(once: "BEGIN")
        // Behind a pooler the time limit of another client may be in force.
        try connection.run(once: "SET LOCAL statement_timeout = 0")
        // First of all; if this throws, the connection and its transaction end.
        _ = try connection.rows(lock)
        let dialect = Schema.Dialect.postgreSQL
        try connection.run(once: dialect.translate(Schema.versionTable))
        let old = try found(connection) ?? 0
        if old > Schema.version { try Schema.check(old) }
        for text in Schema.statements(from: old, dialect) { try connection.run(once: text) }
        try connection.run(once: "DELETE FROM schema_version")
        try connection.run(once: "INSERT INTO schema_version VALUES (\(Schema.version))")
        try connection.run(once: "COMMIT")
        return (old, Schema.version)
    }
}
