import ArgumentParser

/// The beginning that the names of several secrets share: 1 to 255 bytes that end with `/`.
struct NamePrefix {
    let text: String

    /// The prefix that a name is; nil if it does not end with `/`.
    init?(_ name: ItemName) {
        guard name.text.utf8.last == UInt8(ascii: "/") else { return nil }
        text = name.text
    }

    /// Parses a prefix.
    ///
    /// - Throws: `ValidationError` for what is no name, or does not end with `/`.
    init(argument: String) throws(ValidationError) {
        let name = try ItemName(argument: argument)
        guard let prefix = Self(name) else {
            throw ValidationError(
                "a prefix ends with '/', as in '\(argument)/'; a part of a name is looked for by touchstone find"
            )
        }
        self = prefix
    }

    /// Whether a name begins with it, byte by byte: names that only look alike are other names.
    func begins(_ name: String) -> Bool { name.utf8.starts(with: text.utf8) }

    /// The name with `other` in place of this prefix, which it begins with.
    func replaced(in name: String, by other: NamePrefix) -> String {
        other.text + String(decoding: name.utf8.dropFirst(text.utf8.count), as: UTF8.self)
    }

    /// Checks the names of a command that takes two names or two prefixes.
    ///
    /// - Returns: the prefixes; nil if the command is about one secret.
    /// - Throws: `ValidationError` for two that are the same, or a prefix as the new name of one secret.
    static func pair(_ name: ItemName, _ newName: ItemName) throws(ValidationError) -> (
        NamePrefix, NamePrefix
    )? {
        guard !name.text.utf8.elementsEqual(newName.text.utf8) else {
            throw ValidationError("both names are the same")
        }
        guard let to = NamePrefix(newName) else { return nil }
        guard let from = NamePrefix(name) else {
            let last = name.text.split(separator: "/").last ?? ""
            throw ValidationError(
                "'\(to.text)' is a prefix, and '\(name.text)' is one secret: give its whole new name, '\(to.text)\(last)'"
            )
        }
        return (from, to)
    }
}
