/// A JSON value (RFC 8259) of an export, whose texts are places.
///
/// Strict: no extension of the grammar, no duplicate names (RFC 7493). The reader of `WebAuthnModel` makes strings of all values, which
/// cannot be wiped.
enum ExportJSON {
    case null
    case flag(Bool, ExportText)
    case number(ExportText)
    case text(ExportText)
    case list([ExportJSON])
    case object([(name: String, value: ExportJSON)])

    /// Parses a document.
    init(_ document: ExportDocument) throws(ExportFault) {
        var reader = ExportJSONReader(document)
        self = try reader.readDocument()
    }

    /// A member; nil if it is missing or null.
    subscript(name: String) -> ExportJSON? {
        guard case .object(let members) = self,
            let value = members.first(where: { $0.name.utf8.elementsEqual(name.utf8) })?.value
        else { return nil }
        if case .null = value { return nil }
        return value
    }

    /// The members of an object.
    var members: [(name: String, value: ExportJSON)] {
        guard case .object(let members) = self else { return [] }
        return members
    }

    /// The elements of an array.
    var elements: [ExportJSON] {
        guard case .list(let elements) = self else { return [] }
        return elements
    }

    /// A string's place.
    var text: ExportText? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// The place of a string, a number or a truth value.
    var scalar: ExportText? {
        switch self {
        case .text(let text), .number(let text), .flag(_, let text): text
        default: nil
        }
    }

    var flag: Bool? {
        guard case .flag(let flag, _) = self else { return nil }
        return flag
    }
}

/// The parser of ``ExportJSON``.
private struct ExportJSONReader {
    private let document: ExportDocument
    private var index: Int
    private var depth = 0
    private var values = 0

    init(_ document: ExportDocument) {
        self.document = document
        index = document.start
    }

    mutating func readDocument() throws(ExportFault) -> ExportJSON {
        let value = try readValue()
        skipBlanks()
        guard index == document.count else {
            throw ExportFault("something follows the JSON value", at: index)
        }
        return value
    }

    private var next: UInt8? { index < document.count ? document[index] : nil }

    private mutating func skipBlanks() {
        while let octet = next, [0x20, 0x09, 0x0A, 0x0D].contains(octet) { index += 1 }
    }

    /// Whether a character comes next, which is then skipped.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard let octet = next, octet == UInt8(ascii: character) else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ character: Unicode.Scalar) throws(ExportFault) {
        guard take(character) else { throw unexpected }
    }

    private var unexpected: ExportFault {
        ExportFault(index == document.count ? "the JSON ends too early" : "the JSON is malformed", at: index)
    }

    private mutating func readValue() throws(ExportFault) -> ExportJSON {
        values += 1
        guard values <= ExportLimits.mostValues else {
            throw ExportFault("it has more than \(ExportLimits.mostValues) values, the limit", at: index)
        }
        skipBlanks()
        let start = index
        switch next {
        case UInt8(ascii: "{"): return try readObject()
        case UInt8(ascii: "["): return try readList()
        case UInt8(ascii: "\""): return .text(try readText())
        case UInt8(ascii: "t"):
            try readWord("true")
            return .flag(true, ExportText(place: start..<index, form: .plain))
        case UInt8(ascii: "f"):
            try readWord("false")
            return .flag(false, ExportText(place: start..<index, form: .plain))
        case UInt8(ascii: "n"):
            try readWord("null")
            return .null
        default: return .number(try readNumber())
        }
    }

    private mutating func enter() throws(ExportFault) {
        depth += 1
        guard depth <= ExportLimits.deepest else {
            throw ExportFault("it is nested deeper than \(ExportLimits.deepest) levels, the limit", at: index)
        }
        index += 1
    }

    private mutating func readObject() throws(ExportFault) -> ExportJSON {
        try enter()
        defer { depth -= 1 }
        var members: [(name: String, value: ExportJSON)] = []
        var names: Set<[UInt8]> = []
        if take("}") { return .object([]) }
        repeat {
            skipBlanks()
            let start = index
            let name = document.string(try readText())
            guard names.insert(Array(name.utf8)).inserted else {
                throw ExportFault("an object has the same name twice", at: start)
            }
            try expect(":")
            members.append((name, try readValue()))
        } while take(",")
        try expect("}")
        return .object(members)
    }

    private mutating func readList() throws(ExportFault) -> ExportJSON {
        try enter()
        defer { depth -= 1 }
        var elements: [ExportJSON] = []
        if take("]") { return .list([]) }
        repeat { elements.append(try readValue()) } while take(",")
        try expect("]")
        return .list(elements)
    }

    private mutating func readText() throws(ExportFault) -> ExportText {
        guard next == UInt8(ascii: "\"") else { throw unexpected }
        index += 1
        let start = index
        var isPlain = true
        while let octet = next {
            switch octet {
            case UInt8(ascii: "\""):
                index += 1
                return ExportText(place: start..<(index - 1), form: isPlain ? .plain : .json)
            case UInt8(ascii: "\\"):
                isPlain = false
                guard let (scalar, end) = JSONEscape.read(in: document, at: index) else {
                    throw ExportFault("an escape in a JSON string is malformed", at: index)
                }
                guard scalar.value != 0 else {
                    throw ExportFault("a JSON string has a NUL character", at: index)
                }
                index = end
            case 0..<0x20: throw unexpected
            default: index += 1
            }
        }
        throw unexpected
    }

    private mutating func readWord(_ word: StaticString) throws(ExportFault) {
        guard document.has(word, at: index) else { throw unexpected }
        index += word.utf8CodeUnitCount
    }

    private mutating func readNumber() throws(ExportFault) -> ExportText {
        let start = index
        if next == UInt8(ascii: "-") { index += 1 }
        let first = index
        try skipDigits()
        // RFC 8259, section 6: no leading zero.
        guard document[first] != UInt8(ascii: "0") || index == first + 1 else { throw unexpected }
        if next == UInt8(ascii: ".") {
            index += 1
            try skipDigits()
        }
        if let octet = next, octet | 0x20 == UInt8(ascii: "e") {
            index += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index += 1 }
            try skipDigits()
        }
        return ExportText(place: start..<index, form: .plain)
    }

    private mutating func skipDigits() throws(ExportFault) {
        let start = index
        while let octet = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) { index += 1 }
        guard index > start else { throw unexpected }
    }
}

/// An escape in a JSON string (RFC 8259, section 7).
enum JSONEscape {
    /// The character of the escape that begins at `index`, and where it ends; nil if it is malformed.
    static func read(in document: ExportDocument, at index: Int) -> (scalar: Unicode.Scalar, end: Int)? {
        guard index + 1 < document.count else { return nil }
        switch document[index + 1] {
        case UInt8(ascii: "n"): return ("\n", index + 2)
        case UInt8(ascii: "r"): return ("\r", index + 2)
        case UInt8(ascii: "t"): return ("\t", index + 2)
        case UInt8(ascii: "b"): return ("\u{8}", index + 2)
        case UInt8(ascii: "f"): return ("\u{C}", index + 2)
        case let octet where [UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/")].contains(octet):
            return (Unicode.Scalar(octet), index + 2)
        case UInt8(ascii: "u"):
            guard let first = unit(in: document, at: index + 2) else { return nil }
            if let scalar = Unicode.Scalar(first) { return (scalar, index + 6) }
            // A surrogate pair; a lone half is malformed.
            guard first < 0xDC00, document.has("\\u", at: index + 6),
                let second = unit(in: document, at: index + 8), (0xDC00..<0xE000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { return nil }
            return (scalar, index + 12)
        default: return nil
        }
    }

    private static func unit(in document: ExportDocument, at index: Int) -> UInt32? {
        guard index + 4 <= document.count else { return nil }
        var unit: UInt32 = 0
        for place in index..<(index + 4) {
            guard let digit = Character(Unicode.Scalar(document[place])).hexDigitValue else { return nil }
            unit = unit << 4 | UInt32(digit)
        }
        return unit
    }
}
