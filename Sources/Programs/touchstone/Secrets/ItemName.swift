import ArgumentParser

/// The name of a secret: 1 to 255 bytes, no control characters.
struct ItemName {
    /// The longest name, in bytes of UTF-8.
    static let longest = 255

    let text: String

    /// The help and error text about names.
    static let help: ArgumentHelp = "The secret's name: 1 to 255 bytes of UTF-8, no control characters."

    /// Parses a name.
    ///
    /// - Throws: `ValidationError` for an invalid name.
    init(argument: String) throws(ValidationError) {
        guard !argument.isEmpty else { throw ValidationError("a name is not empty") }
        guard argument.utf8.count <= Self.longest else {
            throw ValidationError("a name has at most \(Self.longest) bytes")
        }
        let scalars = argument.unicodeScalars
        guard scalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw ValidationError("a name has no control characters")
        }
        // Swift substitutes this character for invalid UTF-8: two different names would become one.
        guard !scalars.contains("\u{FFFD}") else { throw ValidationError("a name is UTF-8") }
        text = argument
    }
}
