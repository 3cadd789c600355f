/// Bytes as text that can be reviewed: one CBOR item a line, its bytes, then the item after `;`.
///
/// It reads CBOR itself, with none of the product's code, and only the forms that messages have; what it cannot read is
/// listed as bytes alone.
struct CBORListing {
    private let octets: [UInt8]
    private var position = 0
    private var lines: [String] = []

    /// The lines for these bytes.
    static func lines(_ octets: [UInt8]) -> [String] {
        var listing = CBORListing(octets: octets)
        listing.list(depth: 0)
        while listing.position < octets.count { listing.add(count: octets.count - listing.position, 0, "?") }
        return listing.lines
    }

    /// The bytes in lines of a listing; nil if a line has anything else before `;`.
    static func octets(_ lines: some Sequence<Substring>) -> [UInt8]? {
        var octets: [UInt8] = []
        for line in lines {
            for pair in line.prefix(while: { $0 != ";" }).split(separator: " ") {
                guard pair.utf8.count == 2, let octet = UInt8(pair, radix: 16) else { return nil }
                octets.append(octet)
            }
        }
        return octets
    }

    private init(octets: [UInt8]) { self.octets = octets }

    /// The argument of the item's head (RFC 8949, section 3) and the head's length; nil at the end of the bytes.
    private func head() -> (type: UInt8, argument: UInt64, count: Int)? {
        guard position < octets.count else { return nil }
        let (type, short) = (octets[position] >> 5, octets[position] & 31)
        if short < 24 { return (type, UInt64(short), 1) }
        guard short < 28 else { return nil }
        let extra = 1 << Int(short - 24)
        guard position + extra < octets.count else { return nil }
        let argument = octets[(position + 1)...(position + extra)].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return (type, argument, 1 + extra)
    }

    private mutating func list(depth: Int) {
        guard let (type, argument, count) = head() else { return }
        switch type {
        case 0: add(count: count, depth, "\(argument)")
        case 1: add(count: count, depth, "-1 - \(argument)")
        case 2, 3:
            let length = count + Int(clamping: argument)
            guard position + length <= octets.count else { return }
            let content = octets[(position + count)..<(position + length)]
            let text = String(decoding: content, as: UTF8.self)
            add(count: length, depth, type == 2 ? "\(argument) bytes" : text.debugDescription)
        case 4, 5:
            add(count: count, depth, type == 4 ? "array of \(argument)" : "map of \(argument)")
            for _ in 0..<(type == 4 ? argument : 2 * argument) where position < octets.count {
                list(depth: depth + 1)
            }
        case 7 where count == 1:
            add(count: count, depth, [20: "false", 21: "true", 22: "null"][argument] ?? "simple \(argument)")
        case 7: add(count: count, depth, "float of \(count - 1) bytes")
        default: return
        }
    }

    /// Lists `count` bytes, at most 32 a line; the meaning follows the first line.
    private mutating func add(count: Int, _ depth: Int, _ meaning: String) {
        let end = position + count
        var meaning: String? = meaning
        while position < end {
            let part = octets[position..<min(end, position + 32)]
            let hexadecimal = part.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            let indent = String(repeating: "  ", count: depth + (meaning == nil ? 1 : 0))
            lines.append(indent + hexadecimal.joined(separator: " ") + (meaning.map { "  ; " + $0 } ?? ""))
            meaning = nil
            position += part.count
        }
    }
}
