/// A value written as JSON (RFC 8259); secrets never are.
enum JSONText {
    case null
    case text(String)
    case number(Int64)
    case flag(Bool)
    case list([JSONText])
    case object([(String, JSONText)])

    /// A number, or null for nil.
    static func optional(_ number: Int64?) -> JSONText { number.map(JSONText.number) ?? .null }

    /// A truth value, or null for nil.
    static func optional(_ flag: Bool?) -> JSONText { flag.map(JSONText.flag) ?? .null }

    /// Text, or null for nil.
    static func optional(_ text: String?) -> JSONText { text.map(JSONText.text) ?? .null }

    /// The value as text, indented by two spaces per level.
    func rendered(indentation: Int = 0) -> String {
        let inner = String(repeating: "  ", count: indentation + 1)
        let outer = String(repeating: "  ", count: indentation)
        switch self {
        case .null: return "null"
        case .text(let text): return Self.quoted(text)
        case .number(let number): return String(number)
        case .flag(let flag): return flag ? "true" : "false"
        case .list(let values):
            if values.isEmpty { return "[]" }
            let lines = values.map { inner + $0.rendered(indentation: indentation + 1) }
            return "[\n\(lines.joined(separator: ",\n"))\n\(outer)]"
        case .object(let members):
            let lines = members.map { name, value in
                "\(inner)\(Self.quoted(name)): \(value.rendered(indentation: indentation + 1))"
            }
            return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
        }
    }

    /// The value as text without line breaks, for streams of one value per line.
    func renderedOnOneLine() -> String {
        switch self {
        case .null, .text, .number, .flag: rendered()
        case .list(let values): "[\(values.map { $0.renderedOnOneLine() }.joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\(Self.quoted($0)):\($1.renderedOnOneLine())" }.joined(separator: ","))}"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            case "\r": quoted += "\\r"
            case _ where Printable.isHarmful(scalar): quoted += escape(scalar)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// A character by its number, in one or two UTF-16 code units.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { units in
            units.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }
}
