internal import Synchronization

/// A statement in the words that both databases know, with `$1`, `$2`, … for its values; compiled once a connection.
package final class SQLStatement: Sendable {
    private static let count = Atomic<Int>(0)

    /// The text.
    package let text: String
    /// Its number among all statements of the program, by which a connection finds what it compiled.
    package let index: Int

    /// The text without its RETURNING.
    package let change: String
    /// How else the rows of its RETURNING are found.
    package let returned: Returned

    /// How a database gives the rows of RETURNING for which RETURNING itself costs too much: SQLite makes a table each time.
    ///
    /// It is the same in a transaction that writes alone.
    package enum Returned: Sendable {
        /// By RETURNING, or it has none.
        case byItself
        /// They are what this finds before the change; it takes the first of the same values.
        case before(SQLStatement)
        /// They are what this finds after the change.
        case after(SQLStatement)
        /// Nobody looks into the rows, only how many there are.
        case counted
    }

    package convenience init(_ text: String) { self.init(text, change: text, .byItself) }

    /// A change, with the columns that it returns.
    package convenience init(_ change: String, returning columns: String, _ returned: Returned) {
        self.init("\(change) RETURNING \(columns)", change: change, returned)
    }

    private init(_ text: String, change: String, _ returned: Returned) {
        self.text = text
        self.change = change
        self.returned = returned
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
