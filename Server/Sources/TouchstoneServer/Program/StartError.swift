/// Why the program cannot start.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// The kind of error, which also determines the exit status.
    public enum Kind: Sendable {
        /// The configuration must be corrected.
        case configuration
        /// The database needs attention.
        case store
    }

    /// The kind of error.
    public let kind: Kind
    /// The message.
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
