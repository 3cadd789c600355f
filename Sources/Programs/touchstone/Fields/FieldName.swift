import ArgumentParser

/// The name of a field of a secret: 1 to 64 bytes without colons and control characters.
///
/// Names are compared without regard to the case of ASCII letters, as pass's extensions do.
struct FieldName {
    /// The longest name, in bytes of UTF-8.
    private static let longest = 64

    /// The first line.
    static let password = FieldName(known: "password")
    static let user = FieldName(known: "user")
    static let url = FieldName(known: "url")

    static let help: ArgumentHelp = ArgumentHelp(
        "A line 'NAME: value' of the secret, or password for the first line.",
        valueName: "name"
    )

    let text: String

    private init(known text: String) { self.text = text }

    /// Parses a name.
    ///
    /// - Throws: `ValidationError` for an invalid name.
    init(argument: String) throws(ValidationError) {
        guard (1...Self.longest).contains(argument.utf8.count) else {
            throw ValidationError("a field's name has 1 to \(Self.longest) bytes")
        }
        let isPlain = argument.unicodeScalars.allSatisfy { scalar in
            scalar.properties.generalCategory != .control && scalar != ":" && scalar != "\u{FFFD}"
        }
        guard isPlain, argument.first != " ", argument.last != " " else {
            throw ValidationError(
                "a field's name has no colon, no control character, and no blank at its ends"
            )
        }
        text = argument
    }

    /// Equal for names that are the same field.
    var folded: [UInt8] { text.utf8.map { Self.folded($0) } }

    /// Whether these bytes name this field.
    func matches(_ octets: Span<UInt8>) -> Bool {
        let name = folded
        return name.count == octets.count && name.indices.allSatisfy { name[$0] == Self.folded(octets[$0]) }
    }

    /// A byte without the case of an ASCII letter.
    static func folded(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet | 0x20 : octet
    }
}
