package import AccountStore

/// A database that runs transactions: what SQLite and PostgreSQL differ in.
///
/// The use cases are written once, as extensions of ``SQLConnection``; an engine lends them a connection, on a thread that
/// may block.
package protocol SQLEngine: Sendable {
    /// Runs `body` in a transaction that is durable when this returns; what `body` throws takes it back.
    ///
    /// `body` may run more than once, each time on a state that others left.
    func write<R: Sendable>(
        _ isolation: SQLIsolation,
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R

    /// Runs `body`, which writes nothing, on one state of the database.
    func read<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R

    /// What it did since it was opened.
    var statistics: StoreStatistics { get }

    /// Ends the work that was begun and closes the database.
    func close() async
}

/// How much a transaction may see of others.
package enum SQLIsolation: Sendable {
    /// As if it were alone: it reads, decides, and writes.
    case serializable
    /// Each of its statements is whole in itself, which is enough where one decides alone.
    case eachStatement
    /// As ``eachStatement``, in one round trip, for a body that calls ``SQLConnection/rows(_:)`` once and nothing else: those
    /// statements are the transaction, and what the body throws after the call need not take it back.
    case singleCall
}

/// A transaction's connection, on the thread that it is used on.
package protocol SQLConnection: AnyObject {
    /// The chain of audit records that this connection writes events without an account to.
    var ownChain: [UInt8] { get }

    /// Runs statements, and returns the rows of each.
    func rows(_ queries: [SQLQuery]) throws -> [[SQLRow]]

    /// Runs a statement whose rows nobody wants. It may go out later, together with the next one, and its error with it.
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
