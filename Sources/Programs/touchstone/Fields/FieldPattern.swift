/// A part of a field's value, or a shell pattern (glob(7)) for the whole value; the case of ASCII letters does not count.
///
/// A value is compared where it lies: neither `String` nor the C library gets a copy, which nobody would wipe.
struct FieldPattern {
    /// A character as the bytes of its UTF-8, the first one highest.
    ///
    /// They have the order of the code points. A byte that is not UTF-8 is a character of its own.
    private struct Character: Comparable, ExpressibleByUnicodeScalarLiteral {
        let code: UInt32

        init(_ code: UInt32) { self.code = code }

        /// An ASCII character.
        init(unicodeScalarLiteral scalar: Unicode.Scalar) { code = scalar.value }

        static func < (first: Self, second: Self) -> Bool { first.code < second.code }
    }

    private enum Part {
        case character(Character)
        /// `?`
        case one
        /// `*`
        case many
        /// `[…]`, or `[!…]` for all others.
        case set([ClosedRange<Character>], isNegated: Bool)

        func matches(_ character: Character) -> Bool {
            switch self {
            case .character(let own): own == character
            case .one: true
            case .many: false
            case .set(let ranges, let isNegated):
                ranges.contains { $0.contains(character) } != isNegated
            }
        }
    }

    private let text: [UInt8]
    /// Nil for a text without `*`, `?` and `[`.
    private let parts: [Part]?

    /// Reads a pattern.
    init(_ text: String) {
        let folded = text.utf8.map(FieldName.folded)
        self.text = folded
        parts = text.contains { "*?[".contains($0) } ? Self.parts(of: folded) : nil
    }

    /// Whether a value matches.
    func matches(_ value: Span<UInt8>) -> Bool {
        // A value may contain pattern characters itself.
        if isContained(in: value) { return true }
        guard let parts else { return false }
        return Self.matches(parts, value)
    }

    private func isContained(in value: Span<UInt8>) -> Bool {
        guard text.count <= value.count else { return false }
        return (0...(value.count - text.count)).contains { start in
            text.indices.allSatisfy { text[$0] == FieldName.folded(value[start + $0]) }
        }
    }

    /// Matches the whole value; after a mismatch, the last `*` takes one character more.
    private static func matches(_ parts: [Part], _ value: Span<UInt8>) -> Bool {
        var (part, place) = (0, 0)
        var last: (part: Int, place: Int)?
        while place < value.count {
            let (character, end) = character(at: place, in: value)
            if part < parts.count, case .many = parts[part] {
                last = (part, place)
                part += 1
            } else if part < parts.count, parts[part].matches(character) {
                (part, place) = (part + 1, end)
            } else if let (star, start) = last {
                let next = Self.character(at: start, in: value).end
                last = (star, next)
                (part, place) = (star + 1, next)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { part in
            if case .many = part { true } else { false }
        }
    }

    private static func parts(of text: [UInt8]) -> [Part] {
        var characters: [Character] = []
        var place = 0
        while place < text.count {
            let (character, end) = character(at: place, in: text.span)
            characters.append(character)
            place = end
        }
        var parts: [Part] = []
        var rest = characters[...]
        while let character = rest.popFirst() {
            switch character {
            case "*": parts.append(.many)
            case "?": parts.append(.one)
            case "\\": parts.append(.character(rest.popFirst() ?? character))
            case "[": parts.append(set(&rest) ?? .character(character))
            default: parts.append(.character(character))
            }
        }
        return parts
    }

    /// Reads a set after its `[`; nil, and nothing is read, if no `]` ends it.
    private static func set(_ rest: inout ArraySlice<Character>) -> Part? {
        var read = rest
        let isNegated = read.first == "!" || read.first == "^"
        if isNegated { read.removeFirst() }
        var ranges: [ClosedRange<Character>] = []
        // What stands first is no end.
        while let first = read.popFirst() {
            if first == "]", !ranges.isEmpty {
                rest = read
                return .set(ranges, isNegated: isNegated)
            }
            let low = first == "\\" ? read.popFirst() ?? first : first
            guard read.first == "-", let high = read.dropFirst().first, high != "]" else {
                ranges.append(low...low)
                continue
            }
            read.removeFirst(2)
            // A range that ends before it begins has no character, but is there.
            ranges.append(low <= high ? low...high : Character(.max)...Character(.max))
        }
        return nil
    }

    private static func character(at place: Int, in octets: Span<UInt8>) -> (Character, end: Int) {
        let first = octets[place]
        let count =
            switch first {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        let end = place + count
        guard end <= octets.count, ((place + 1)..<end).allSatisfy({ octets[$0] & 0xC0 == 0x80 }) else {
            return (Character(UInt32(FieldName.folded(first))), place + 1)
        }
        return (Character((place..<end).reduce(0) { $0 << 8 | UInt32(FieldName.folded(octets[$1])) }), end)
    }
}
