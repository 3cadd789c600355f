/// Makes a text safe for a line of the log: no text of others can begin another line, control a terminal, or reverse
/// the order in which characters are shown.
enum LogEscapes {
    /// The text with the escapes of JSON (RFC 8259, section 7) in the place of characters that are not shown.
    static func text(_ value: String) -> String { escaped(value, quotes: false) }

    /// The text as a JSON string in quotes, whose value is the text itself.
    static func quoted(_ value: String) -> String { "\"\(escaped(value, quotes: true))\"" }

    private static func escaped(_ value: String, quotes: Bool) -> String {
        guard value.utf8.contains(where: { isSpecial($0, quotes: quotes) }) else { return value }
        var text = ""
        text.reserveCapacity(value.utf8.count)
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\"" where quotes: text += "\\\""
            case "\\" where quotes: text += "\\\\"
            case " "..."~": text.unicodeScalars.append(scalar)
            default:
                if isShown(scalar) {
                    text.unicodeScalars.append(scalar)
                } else {
                    for unit in UTF16.encode(scalar) ?? UTF16.EncodedScalar() { text += escape(unit) }
                }
            }
        }
        return text
    }

    /// Whether a byte may be of a character that has to be escaped.
    private static func isSpecial(_ byte: UInt8, quotes: Bool) -> Bool {
        byte < 0x20 || byte >= 0x7F
            || quotes && (byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\"))
    }

    /// Letters, marks, digits, punctuation and symbols; no control, format or separator characters.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        guard !scalar.properties.isDefaultIgnorableCodePoint else { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
            .unassigned:
            return false
        default: return true
        }
    }

    private static func escape(_ unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
