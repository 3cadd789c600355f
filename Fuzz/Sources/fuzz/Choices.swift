/// Reads an input as a sequence of choices, which never ends, whatever the bytes.
struct Choices {
    private let octets: [UInt8]
    private var position = 0

    init(_ octets: Span<UInt8>) { self.octets = octets.array }

    var isAtEnd: Bool { position >= octets.count }

    /// The next byte; 0 at the end of the input.
    mutating func octet() -> UInt8 {
        guard !isAtEnd else { return 0 }
        defer { position += 1 }
        return octets[position]
    }

    /// The next eight bytes as a number, most significant first.
    mutating func number() -> UInt64 {
        (0..<8).reduce(0) { number, _ in number << 8 | UInt64(octet()) }
    }

    /// A string of bytes with its length in the next byte, or shorter at the end of the input.
    mutating func octetString() -> [UInt8] {
        let count = Int(octet())
        let end = min(position + count, octets.count)
        defer { position = max(position, end) }
        return position < end ? Array(octets[position..<end]) : []
    }

    /// All remaining bytes.
    mutating func rest() -> [UInt8] {
        defer { position = octets.count }
        return Array(octets.dropFirst(position))
    }

    /// Text, with invalid UTF-8 replaced.
    mutating func text() -> String { String(decoding: octetString(), as: UTF8.self) }

    /// One of `elements`, which must not be empty.
    mutating func element<T>(of elements: [T]) -> T { elements[Int(octet()) % elements.count] }
}

/// Writes a seed for ``Choices``.
struct ChoiceWriter {
    private(set) var octets: [UInt8] = []

    mutating func write(_ octet: UInt8) { octets.append(octet) }

    mutating func write(_ number: UInt64) {
        octets += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64($0))) }
    }

    /// Writes a string, truncated to 255 bytes.
    mutating func write(_ string: [UInt8]) {
        let string = string.prefix(255)
        octets.append(UInt8(string.count))
        octets += string
    }

    /// Writes the bytes for ``Choices/rest()``; must be last.
    mutating func write(rest: [UInt8]) { octets += rest }

    mutating func write(_ text: String) { write(Array(text.utf8)) }
}
