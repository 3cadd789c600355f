internal import CBOR
internal import KeychainModel

/// Attributes that an item must have, compared as encoded octets with an item's encoded map.
///
/// Both are deterministic CBOR, so equal values have equal octets and nothing need be decoded.
struct AttributeMatch {
    private struct Wanted {
        /// The encoded key.
        let key: [UInt8]
        /// The encoded value.
        let value: [UInt8]
        /// Whether an item without the attribute matches too.
        let matchesMissing: Bool
    }

    private let wanted: [Wanted]

    init(_ attributes: ItemAttributes, primaryKey: [AttributeKey]) {
        wanted = attributes.map { key, value in
            Wanted(
                key: Self.encode { $0.write(text: key.rawValue) },
                value: Self.encode { $0.write(value) },
                matchesMissing: value.isBlank && primaryKey.contains(key)
            )
        }
    }

    /// Whether the map has all that is wanted.
    func matches(_ map: UnsafeRawBufferPointer) -> Bool {
        guard !wanted.isEmpty else { return true }
        var seen = 0
        var missing = 0
        for attribute in wanted {
            switch unsafe Self.find(attribute.key, in: map) {
            case .some(let range):
                guard unsafe Self.areEqual(attribute.value, map, range) else { return false }
                seen += 1
            case nil:
                guard attribute.matchesMissing else { return false }
                missing += 1
            }
        }
        return seen + missing == wanted.count
    }

    private static func encode(_ body: (inout CBORWriter<[UInt8]>) -> Void) -> [UInt8] {
        var writer = CBORWriter([UInt8]())
        body(&writer)
        return writer.finish()
    }

    /// Where the value of an encoded key stands.
    private static func find(_ key: [UInt8], in map: UnsafeRawBufferPointer) -> Range<Int>? {
        guard let head = unsafe head(in: map, at: 0), head.major == 5 else { return nil }
        var position = head.end
        for _ in 0..<min(head.argument, UInt64(map.count)) {
            guard let keyEnd = unsafe end(in: map, at: position),
                let valueEnd = unsafe end(in: map, at: keyEnd)
            else { return nil }
            if unsafe areEqual(key, map, position..<keyEnd) { return keyEnd..<valueEnd }
            position = valueEnd
        }
        return nil
    }

    private static func areEqual(_ octets: [UInt8], _ map: UnsafeRawBufferPointer, _ range: Range<Int>)
        -> Bool
    {
        guard octets.count == range.count else { return false }
        for index in 0..<octets.count where unsafe octets[index] != map[range.lowerBound + index] {
            return false
        }
        return true
    }

    private static func end(in map: UnsafeRawBufferPointer, at position: Int) -> Int? {
        guard let head = unsafe head(in: map, at: position) else { return nil }
        switch head.major {
        case 0, 1, 7: return head.end
        case 2, 3:
            guard head.argument <= UInt64(map.count - head.end) else { return nil }
            return head.end + Int(head.argument)
        // A date: one whole number in an array.
        case 4 where head.argument == 1:
            guard let inner = unsafe self.head(in: map, at: head.end), inner.major <= 1 else { return nil }
            return inner.end
        default: return nil
        }
    }

    private static func head(
        in map: UnsafeRawBufferPointer,
        at position: Int
    ) -> (major: UInt8, argument: UInt64, end: Int)? {
        guard position < map.count else { return nil }
        let first = unsafe map[position]
        let short = first & 31
        guard short >= 24 else { return (first >> 5, UInt64(short), position + 1) }
        guard short <= 27 else { return nil }
        let width = 1 << Int(short - 24)
        guard map.count - position > width else { return nil }
        var argument: UInt64 = 0
        for index in 1...width { unsafe argument = argument << 8 | UInt64(map[position + index]) }
        return (first >> 5, argument, position + 1 + width)
    }
}
