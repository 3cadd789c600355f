/// A line of the daemon's log, divided into its parts.
struct LogEntry {
    /// When it was written: UTC, ISO 8601.
    let time: String
    let level: String
    let message: String
    /// The fields in the line's order, unescaped.
    let fields: [(name: String, value: String)]

    /// Divides a line as the daemon writes it: time, level, message, then fields `name="value"`; nil for another line.
    init?(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, !words[1].isEmpty else { return nil }
        (time, level) = (String(words[0]), String(words[1]))
        // No message has this, and a value has no quote that is not escaped.
        guard let first = words[2].firstRange(of: "=\"") else {
            (message, fields) = (String(words[2]), [])
            return
        }
        let start = words[2][..<first.lowerBound].lastIndex(of: " ") ?? words[2].startIndex
        guard start > words[2].startIndex, let fields = Self.fields(words[2][start...]) else { return nil }
        message = String(words[2][..<start])
        self.fields = fields
    }

    /// The entry for programs.
    var json: JSONText {
        .object([
            ("time", .text(time)), ("level", .text(level)), ("message", .text(message)),
            ("fields", .object(fields.map { ($0.name, .text($0.value)) })),
        ])
    }

    /// The value of a field; nil if there is none.
    func value(of name: String) -> String? { fields.first { $0.name == name }?.value }

    /// Fields, each after one space; nil for text of another form.
    private static func fields(_ text: Substring) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        var rest = text
        while !rest.isEmpty {
            guard rest.removeFirst() == " ", let equals = rest.firstRange(of: "=\"") else { return nil }
            let name = String(rest[..<equals.lowerBound])
            rest = rest[equals.upperBound...]
            guard !name.isEmpty, let value = takeValue(from: &rest) else { return nil }
            fields.append((name, value))
        }
        return fields
    }

    /// Takes a value up to its closing quote; nil if there is none, or for an escape that the daemon does not write.
    private static func takeValue(from rest: inout Substring) -> String? {
        var value = ""
        while let character = rest.unicodeScalars.popFirst() {
            switch character {
            case "\"": return value
            case "\\":
                guard let scalar = takeEscape(from: &rest) else { return nil }
                value.unicodeScalars.append(scalar)
            default: value.unicodeScalars.append(character)
            }
        }
        return nil
    }

    private static func takeEscape(from rest: inout Substring) -> Unicode.Scalar? {
        switch rest.unicodeScalars.popFirst() {
        case "\\": return "\\"
        case "\"": return "\""
        case "n": return "\n"
        case "u":
            guard rest.unicodeScalars.popFirst() == "{", let end = rest.firstIndex(of: "}") else {
                return nil
            }
            let number = UInt32(rest[..<end], radix: 16)
            rest = rest[rest.index(after: end)...]
            return number.flatMap(Unicode.Scalar.init)
        default: return nil
        }
    }
}
