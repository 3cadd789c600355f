extension JSONValue {
    /// The document in UTF-8 (RFC 8259), without blanks; ``init(parsing:depth:)`` parses it.
    public var json: [UInt8] { Array(text.utf8) }

    private var text: String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): "\(number)"
        case .number(let number): "\(number)"
        case .string(let text): JSONText.quoted(text)
        case .array(let values): "[\(values.map(\.text).joined(separator: ","))]"
        case .object(let object):
            "{\(object.members.map { "\(JSONText.quoted($0.name)):\($0.value.text)" }.joined(separator: ","))}"
        }
    }
}

/// Strings in JSON's form.
enum JSONText {
    /// CCDToString of WebAuthn Level 3, section 5.8.1.1, which is valid in any JSON.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
