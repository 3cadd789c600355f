import Foundation

/// A value of a message as a transcript spells it.
///
/// Names (`$item1`) stand for what is different in each run. ``TranscriptNames`` gives and resolves them.
indirect enum TranscriptValue: Hashable, Sendable {
    /// A string or a signature: `"text"`.
    case text(String)
    /// An object path, in which `~` is the service's own, and a component may be a name: `~/session/$session1`.
    case path(String)
    /// A number or a truth value.
    case plain(String)
    /// Bytes: `b"text"`, or `x"00FF"` for what is no text.
    case octets([UInt8])
    /// A text that the session encrypts: `sealed b"text"`.
    case sealed([UInt8])
    /// What nobody can foresee: `$time`, `$key`, `$vector`, `$introspection`.
    case name(String)
    /// `[…]`
    case list([TranscriptValue])
    /// `{key: value}`
    case pairs([Pair])
    /// `(…)`
    case members([TranscriptValue])
    /// `<signature value>`
    case variant(String, TranscriptValue)

    /// A pair of a dictionary.
    struct Pair: Hashable, Sendable {
        let key: TranscriptValue
        let value: TranscriptValue
    }

    /// The text.
    var text: String {
        switch self {
        case .text(let text): Self.quoted(text)
        case .path(let text), .plain(let text): text
        case .octets(let octets): Self.quoted(octets)
        case .sealed(let octets): "sealed " + Self.quoted(octets)
        case .name(let name): "$" + name
        case .list(let values): "[" + values.map(\.text).joined(separator: ", ") + "]"
        case .pairs(let pairs):
            "{" + pairs.map { "\($0.key.text): \($0.value.text)" }.joined(separator: ", ") + "}"
        case .members(let values): "(" + values.map(\.text).joined(separator: ", ") + ")"
        case .variant(let signature, let value): "<\(signature) \(value.text)>"
        }
    }

    private static let escapes: [(scalar: Unicode.Scalar, letter: Character)] = [
        ("\\", "\\"), ("\"", "\""), ("\n", "n"), ("\t", "t"), ("\r", "r"),
    ]

    private static func quoted(_ text: String) -> String {
        let escaped = text.unicodeScalars.map { scalar in
            escapes.first { $0.scalar == scalar }.map { "\\\($0.letter)" } ?? String(scalar)
        }
        return "\"" + escaped.joined() + "\""
    }

    private static func quoted(_ octets: [UInt8]) -> String {
        let isText = octets.allSatisfy { (0x20..<0x7F).contains($0) || $0 == 0x0A || $0 == 0x09 }
        guard isText else {
            return "x\"" + octets.map { String(format: "%02X", $0) }.joined() + "\""
        }
        return "b" + quoted(String(decoding: octets, as: UTF8.self))
    }

    // MARK: Reading

    /// A text that is no value of its signature.
    struct Malformed: Error {
        /// What is left from the fault on.
        let rest: String
    }

    /// Reads values that spaces separate.
    static func values(_ text: some StringProtocol, _ signature: some StringProtocol) throws
        -> [TranscriptValue]
    {
        var reader = Reader(rest: Substring(text))
        let values = try types(of: signature).map { type in
            reader.skip(" ")
            return try reader.value(type)
        }
        guard reader.rest.isEmpty else { throw Malformed(rest: String(reader.rest)) }
        return values
    }

    /// The complete types in a signature.
    static func types(of signature: some StringProtocol) -> [String] {
        var types: [String] = []
        var type = ""
        var depth = 0
        for character in signature {
            type.append(character)
            if "({".contains(character) { depth += 1 }
            if ")}".contains(character) { depth -= 1 }
            guard depth == 0, character != "a" else { continue }
            types.append(type)
            type = ""
        }
        return types
    }

    private struct Reader {
        var rest: Substring

        @discardableResult
        mutating func skip(_ text: String) -> Bool {
            guard rest.hasPrefix(text) else { return false }
            rest.removeFirst(text.count)
            return true
        }

        mutating func expect(_ text: String) throws {
            guard skip(text) else { throw Malformed(rest: String(rest)) }
        }

        mutating func word() throws -> String {
            let word = rest.prefix { !" ,:)]}>".contains($0) }
            guard !word.isEmpty else { throw Malformed(rest: String(rest)) }
            rest.removeFirst(word.count)
            return String(word)
        }

        mutating func quoted() throws -> String {
            try expect("\"")
            var text = ""
            while let character = rest.popFirst() {
                if character == "\"" { return text }
                guard character == "\\" else {
                    text.append(character)
                    continue
                }
                guard let letter = rest.popFirst(), let escape = escapes.first(where: { $0.letter == letter })
                else { break }
                text.unicodeScalars.append(escape.scalar)
            }
            throw Malformed(rest: text)
        }

        mutating func octets() throws -> [UInt8] {
            if skip("b") { return Array(try quoted().utf8) }
            try expect("x")
            var digits = try quoted()[...]
            var octets: [UInt8] = []
            while !digits.isEmpty {
                guard let octet = UInt8(digits.prefix(2), radix: 16) else {
                    throw Malformed(rest: String(digits))
                }
                octets.append(octet)
                digits = digits.dropFirst(2)
            }
            return octets
        }

        /// Reads what comes until the end of a container.
        mutating func elements<Element>(
            until end: String,
            _ read: (inout Reader) throws -> Element
        ) throws -> [Element] {
            var elements: [Element] = []
            while !skip(end) {
                if !elements.isEmpty { try expect(", ") }
                elements.append(try read(&self))
            }
            return elements
        }

        mutating func value(_ type: String) throws -> TranscriptValue {
            if skip("$") { return .name(try word()) }
            switch type.first {
            case "s", "g": return .text(try quoted())
            case "o": return .path(try word())
            case "v":
                try expect("<")
                let signature = String(rest.prefix { $0 != " " })
                rest.removeFirst(signature.count)
                try expect(" ")
                let value = try value(signature)
                try expect(">")
                return .variant(signature, value)
            case "a" where type == "ay":
                return skip("sealed ") ? .sealed(try octets()) : .octets(try octets())
            case "a" where type.hasPrefix("a{"):
                let types = types(of: type.dropFirst(2).dropLast())
                try expect("{")
                return .pairs(
                    try elements(until: "}") { reader in
                        let key = try reader.value(types[0])
                        try reader.expect(": ")
                        return Pair(key: key, value: try reader.value(types[1]))
                    }
                )
            case "a":
                try expect("[")
                return .list(try elements(until: "]") { try $0.value(String(type.dropFirst())) })
            case "(":
                var types = types(of: type.dropFirst().dropLast())[...]
                try expect("(")
                return .members(
                    try elements(until: ")") { reader in
                        guard let type = types.popFirst() else { throw Malformed(rest: String(reader.rest)) }
                        return try reader.value(type)
                    }
                )
            default: return .plain(try word())
            }
        }
    }
}
