/// External text, made harmless for a terminal.
enum Printable {
    /// Shows control and format characters, including line breaks, as `\u{…}`.
    static func text(_ text: String) -> String {
        guard !isPlain(text) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isHarmful(scalar) {
                shown += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                shown.unicodeScalars.append(scalar)
            }
        }
        return shown
    }

    /// Whether a terminal shows the text as it is.
    static func isPlain(_ text: String) -> Bool { !text.unicodeScalars.contains(where: isHarmful) }

    /// Whether a terminal may show or do something else than the character.
    static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Format characters reorder the text around them; the joiners do not.
        case .format: scalar.value != 0x200C && scalar.value != 0x200D
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }
}
