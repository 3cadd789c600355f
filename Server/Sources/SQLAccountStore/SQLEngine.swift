package import AccountStore

/// A database that runs transactions: the differences between SQLite and PostgreSQL.
///
/// The use cases are written once, as extensions of ``SQLConnection``; an engine lends them a connection, on a thread
/// that may block.
package protocol SQLEngine: Sendable {
    /// Runs `body` in a transaction that is durable when this returns; an error of `body` rolls it back.
    ///
    /// `body` may run more than once, each time on the state that other transactions left.
    func write<R: Sendable>(
        _ isolation: SQLIsolation,
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R

    /// Runs `body`, which only reads, on one snapshot of the database.
    func read<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R

    /// Counts since the engine was opened.
    var statistics: StoreStatistics { get }

    /// Finishes the work in progress and closes the database.
    func close() async
}

/// A transaction's isolation from concurrent ones.
package enum SQLIsolation: Sendable {
    /// Serialisable: it reads, decides, and writes as if it were alone.
    case serializable
    /// Each statement is atomic by itself, which is enough when a single statement decides.
    case eachStatement
    /// As ``eachStatement``, in one round trip, for a body that calls ``SQLConnection/rows(_:)`` once and nothing else:
    /// those statements form the transaction, and an error of the body after the call need not roll it back.
    case singleCall
}

/// The connection of a transaction, on the thread that uses it.
package protocol SQLConnection: AnyObject {
    /// The audit chain to which this connection writes events without an account.
    var ownChain: [UInt8] { get }

    /// The key of a session's token in its table: with or without the time, as is faster for the database.
    func key(of token: TokenDigest) -> SQLValue

    /// Runs statements, and returns the rows of each.
    func rows(_ queries: [SQLQuery]) throws -> [[SQLRow]]

    /// Runs a statement whose rows are not needed. It may be sent later together with the next one, which then throws
    /// its error.
    func execute(_ query: SQLQuery) throws
}

extension SQLConnection {
    package func rows(_ statement: SQLStatement, _ values: SQLValue...) throws -> [SQLRow] {
        try rows([SQLQuery(statement, values)])[0]
    }

    package func row(_ statement: SQLStatement, _ values: SQLValue...) throws -> SQLRow? {
        try rows([SQLQuery(statement, values)])[0].first
    }

    package func execute(_ statement: SQLStatement, _ values: SQLValue...) throws {
        try execute(SQLQuery(statement, values))
    }
}
