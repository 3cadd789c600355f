/// Reads one JSON document (RFC 8259) strictly: no extensions of the grammar, no duplicate names.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0
    private var depthLeft: Int

    init(_ bytes: [UInt8], depth: Int) {
        self.bytes = bytes
        depthLeft = depth
    }

    mutating func readDocument() throws(JSONError) -> JSONValue {
        skipBlanks()
        let value = try readValue()
        skipBlanks()
        guard position == bytes.count else { throw JSONError(.trailingBytes, at: position) }
        return value
    }

    private mutating func readValue() throws(JSONError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try readObject())
        case UInt8(ascii: "["): return .array(try readArray())
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "t"):
            try readLiteral("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try readLiteral("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try readLiteral("null")
            return .null
        default: return try readNumber()
        }
    }

    // MARK: Containers

    private mutating func readObject() throws(JSONError) -> JSONObject {
        try enter()
        defer { depthLeft += 1 }
        var members: [(name: String, value: JSONValue)] = []
        /// The names, once there are too many for a linear search.
        var names: Set<String> = []
        if try skip(UInt8(ascii: "}")) { return JSONObject([]) }
        repeat {
            skipBlanks()
            let start = position
            guard try peek() == UInt8(ascii: "\"") else { throw JSONError(.unexpectedCharacter, at: start) }
            let name = try readString()
            if members.count < 8 {
                guard !members.contains(where: { $0.name == name }) else {
                    throw JSONError(.duplicateName, at: start)
                }
            } else {
                if names.isEmpty { names = Set(members.map(\.name)) }
                guard names.insert(name).inserted else { throw JSONError(.duplicateName, at: start) }
            }
            guard try skip(UInt8(ascii: ":")) else { throw JSONError(.unexpectedCharacter, at: position) }
            skipBlanks()
            members.append((name, try readValue()))
        } while try skip(UInt8(ascii: ","))
        guard try skip(UInt8(ascii: "}")) else { throw JSONError(.unexpectedCharacter, at: position) }
        return JSONObject(members)
    }

    private mutating func readArray() throws(JSONError) -> [JSONValue] {
        try enter()
        defer { depthLeft += 1 }
        if try skip(UInt8(ascii: "]")) { return [] }
        var values: [JSONValue] = []
        repeat {
            skipBlanks()
            values.append(try readValue())
        } while try skip(UInt8(ascii: ","))
        guard try skip(UInt8(ascii: "]")) else { throw JSONError(.unexpectedCharacter, at: position) }
        return values
    }

    private mutating func enter() throws(JSONError) {
        guard depthLeft > 0 else { throw JSONError(.tooDeep, at: position) }
        depthLeft -= 1
        position += 1
    }

    // MARK: Strings

    private mutating func readString() throws(JSONError) -> String {
        let start = position
        position += 1
        let content = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return try text(bytes[content..<position].span, at: start)
            case UInt8(ascii: "\\"): return try readEscapedString(from: content, start: start)
            case 0..<0x20: throw JSONError(.unexpectedCharacter, at: position)
            default: position += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: bytes.count)
    }

    private mutating func readEscapedString(from content: Int, start: Int) throws(JSONError) -> String {
        var unescaped = Array(bytes[content..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try text(unescaped.span, at: start)
            case UInt8(ascii: "\\"):
                position += 1
                let scalar = try readEscape()
                unescaped += Array(String(scalar).utf8)
            case 0..<0x20: throw JSONError(.unexpectedCharacter, at: position)
            default:
                unescaped.append(byte)
                position += 1
            }
        }
        throw JSONError(.unexpectedEnd, at: bytes.count)
    }

    /// Reads the part of an escape after the backslash (RFC 8259, section 7).
    private mutating func readEscape() throws(JSONError) -> Unicode.Scalar {
        let start = position
        let character = try peek()
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(character)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            let unit = try readHexadecimalUnit()
            if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
            // The first half of a surrogate pair; RFC 7493, section 2.1 forbids a lone one.
            guard unit < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u")
            else { throw JSONError(.invalidText, at: start) }
            position += 2
            let second = try readHexadecimalUnit()
            guard (0xDC00..<0xE000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + UInt32(second) - 0xDC00)
            else { throw JSONError(.invalidText, at: start) }
            return scalar
        default: throw JSONError(.unexpectedCharacter, at: start)
        }
    }

    private mutating func readHexadecimalUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch try peek() {
            case let character where (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character):
                digit = character - UInt8(ascii: "0")
            case let character where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(character | 0x20):
                digit = (character | 0x20) - UInt8(ascii: "a") + 10
            default: throw JSONError(.unexpectedCharacter, at: position)
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    private func text(_ content: Span<UInt8>, at start: Int) throws(JSONError) -> String {
        do {
            return String(copying: try UTF8Span(validating: content))
        } catch {
            throw JSONError(.invalidText, at: start)
        }
    }

    // MARK: Numbers and literals

    private mutating func readNumber() throws(JSONError) -> JSONValue {
        let start = position
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
        let first = position
        try skipDigits()
        // No leading zero (RFC 8259, section 6).
        guard bytes[first] != UInt8(ascii: "0") || position == first + 1 else {
            throw JSONError(.invalidNumber, at: start)
        }
        var isInteger = true
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try skipDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < bytes.count,
                bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-")
            {
                position += 1
            }
            try skipDigits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text), number.isFinite else { throw JSONError(.invalidNumber, at: start) }
        return .number(number)
    }

    private mutating func skipDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) {
            position += 1
        }
        guard position > start else {
            throw JSONError(position < bytes.count ? .unexpectedCharacter : .unexpectedEnd, at: position)
        }
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        let start = position
        for offset in 0..<literal.utf8CodeUnitCount {
            guard position < bytes.count else { throw JSONError(.unexpectedEnd, at: position) }
            let expected = literal.withUTF8Buffer { $0[offset] }
            guard bytes[position] == expected else { throw JSONError(.unexpectedCharacter, at: start) }
            position += 1
        }
    }

    // MARK: Characters

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw JSONError(.unexpectedEnd, at: position) }
        return bytes[position]
    }

    private mutating func skipBlanks() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    /// Skips blanks, and `character` if it comes next.
    private mutating func skip(_ character: UInt8) throws(JSONError) -> Bool {
        skipBlanks()
        guard try peek() == character else { return false }
        position += 1
        return true
    }
}
