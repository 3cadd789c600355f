internal import Synchronization

/// A statement in the words that both databases know, with `$1`, `$2`, … for its values; compiled once a connection.
package final class SQLStatement: Sendable {
    private static let count = Atomic<Int>(0)

    /// The text.
    package let text: String
    /// Its number among all statements of the program, by which a connection finds what it compiled.
    package let index: Int

    package init(_ text: String) {
        self.text = text
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
