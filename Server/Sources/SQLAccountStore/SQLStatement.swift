internal import Crypto
internal import Synchronization

/// A statement in SQL that both databases accept, with `$1`, `$2`, … for its values; prepared once per connection.
package final class SQLStatement: Sendable {
    private static let count = Atomic<Int>(0)

    /// The text.
    package let text: String
    /// Its index among all statements of the program, by which a connection finds the prepared statement (SQLite).
    package let index: Int
    /// A name that no other text has: connections behind a pooler share the statements that their server prepared, also
    /// with other versions of the program, where an index may be another statement's.
    package let name: String

    /// The text without its RETURNING clause.
    package let change: String
    /// How else the rows of RETURNING can be found.
    package let returned: Returned

    /// How a database gets the rows of RETURNING if the clause itself is too expensive: SQLite makes a table each time.
    ///
    /// The result is the same in a transaction that is the only writer.
    package enum Returned: Sendable {
        /// By the RETURNING clause, or there is none.
        case byItself
        /// By this query before the change; it takes the first of the same values.
        case before(SQLStatement)
        /// By this query after the change.
        case after(SQLStatement)
        /// Only the number of rows is used, not their content.
        case counted
    }

    package convenience init(_ text: String) { self.init(text, change: text, .byItself) }

    /// Creates a change, with the columns that it returns.
    package convenience init(_ change: String, returning columns: String, _ returned: Returned) {
        self.init("\(change) RETURNING \(columns)", change: change, returned)
    }

    private init(_ text: String, change: String, _ returned: Returned) {
        self.text = text
        self.change = change
        self.returned = returned
        name =
            "ts_"
            + SHA256.hash(data: Array(text.utf8)).prefix(16).map { byte in
                (byte < 16 ? "0" : "") + String(byte, radix: 16)
            }.joined()
        index = Self.count.wrappingAdd(1, ordering: .relaxed).oldValue
    }
}

/// A statement and its values.
package struct SQLQuery: Sendable {
    package let statement: SQLStatement
    package let values: [SQLValue]

    package init(_ statement: SQLStatement, _ values: [SQLValue]) {
        self.statement = statement
        self.values = values
    }
}
