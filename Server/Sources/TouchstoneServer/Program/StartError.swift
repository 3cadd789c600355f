/// Why the program cannot begin.
public struct StartError: Error, Sendable, CustomStringConvertible {
    /// What to do about it; the exit status says the same.
    public enum Kind: Sendable {
        /// Mend the configuration.
        case configuration
        /// See to the database.
        case store
    }

    /// What to do about it.
    public let kind: Kind
    /// What is wrong.
    public let description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
