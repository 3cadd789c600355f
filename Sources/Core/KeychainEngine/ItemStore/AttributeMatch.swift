internal import CBOR
internal import Glibc
internal import KeychainModel

/// Attributes that an item must have, compared with the item's attribute map as encoded bytes.
///
/// Both are deterministic CBOR: equal values have equal bytes and keys have one order, so nothing needs decoding.
struct AttributeMatch {
    private struct Wanted {
        let key: Range<Int>
        let value: Range<Int>
        /// Whether an item without the attribute matches too.
        let matchesMissing: Bool
    }

    /// Encoded keys and values alternately, in map order.
    private let octets: [UInt8]
    private let wanted: [Wanted]

    /// - Parameters:
    ///   - attributes: the attributes an item must have; its group and access control are not compared here.
    ///   - synchronizable: the value that replaces the attribute of that name.
    ///   - itemClass: the class whose primary key treats empty and missing attributes as equal.
    init(_ attributes: ItemAttributes, synchronizable: AttributeValue?, itemClass: ItemClass?) {
        // The group is compared with the authenticated header instead. The access control is accepted in a search but not
        // matched, as Apple does.
        var wanted = attributes
        (wanted[.accessGroup], wanted[.accessControl]) = (nil, nil)
        wanted[.synchronizable] = synchronizable
        self.init(wanted) { key in itemClass.map { PrimaryKey.attributes(of: $0).contains(key) } ?? false }
    }

    init(_ attributes: ItemAttributes, primaryKey: [AttributeKey]) {
        self.init(attributes, isPrimary: primaryKey.contains)
    }

    /// Encodes the attributes in the order of the items' maps.
    private init(_ attributes: ItemAttributes, isPrimary: (AttributeKey) -> Bool) {
        var writer = CBORWriter(capacity: 128)
        for (key, value) in attributes {
            writer.write(text: key.rawValue)
            writer.write(value)
        }
        let octets = writer.finish()
        var wanted: [Wanted] = []
        wanted.reserveCapacity(attributes.count)
        var place = 0
        unsafe octets.withUnsafeBytes { octets in
            for (key, value) in attributes {
                guard let middle = unsafe Self.end(in: octets, at: place),
                    let end = unsafe Self.end(in: octets, at: middle)
                else { continue }
                let matchesMissing = (value.isBlank || Self.isPublic(key, value)) && isPrimary(key)
                wanted.append(
                    Wanted(key: place..<middle, value: middle..<end, matchesMissing: matchesMissing)
                )
                place = end
            }
        }
        self.wanted = wanted
        self.octets = octets
    }

    /// Whether it is the class of public keys, the only constant whose value is zero: a key without a class has this one.
    private static func isPublic(_ key: AttributeKey, _ value: AttributeValue) -> Bool {
        key.rawValue == "kcls" && value == .string("0")
    }

    /// Whether the map has all required attributes.
    func matches(_ map: UnsafeRawBufferPointer) -> Bool {
        guard !wanted.isEmpty else { return true }
        guard let head = unsafe Self.head(in: map, at: 0), head.major == 5 else { return false }
        return unsafe octets.withUnsafeBytes { octets in
            // Each search starts after the previous match: both are in the same order.
            var place = head.end
            for wanted in wanted {
                if let found = unsafe Self.find(octets, wanted.key, in: map, from: place) {
                    guard unsafe Self.areEqual(octets, wanted.value, map, found) else { return false }
                    place = found.upperBound
                } else if !wanted.matchesMissing {
                    return false
                }
            }
            return true
        }
    }

    /// The bytes of an attribute in a map; nil if it is missing, or no byte string.
    static func data(of key: AttributeKey, in map: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let range = unsafe value(of: key, in: map),
            let head = unsafe head(in: map, at: range.lowerBound), head.major == 2
        else { return nil }
        return unsafe Array(map[head.end..<range.upperBound])
    }

    /// The date of an attribute in a map, in microseconds since 1970; nil if it is missing, or no date.
    static func date(of key: AttributeKey, in map: UnsafeRawBufferPointer) -> Int64? {
        guard let range = unsafe value(of: key, in: map),
            let array = unsafe head(in: map, at: range.lowerBound), array.major == 4,
            let number = unsafe head(in: map, at: array.end), number.major <= 1
        else { return nil }
        let magnitude = Int64(clamping: number.argument)
        return number.major == 0 ? magnitude : -1 - magnitude
    }

    /// Whether a map has an attribute.
    static func has(_ key: AttributeKey, in map: UnsafeRawBufferPointer) -> Bool {
        unsafe value(of: key, in: map) != nil
    }

    private static func value(of key: AttributeKey, in map: UnsafeRawBufferPointer) -> Range<Int>? {
        guard let head = unsafe head(in: map, at: 0), head.major == 5 else { return nil }
        var writer = CBORWriter(capacity: 8)
        writer.write(text: key.rawValue)
        let key = writer.finish()
        return unsafe key.withUnsafeBytes { unsafe find($0, 0..<$0.count, in: map, from: head.end) }
    }

    /// The range of the value for an encoded key, searched from `place` on.
    private static func find(
        _ octets: UnsafeRawBufferPointer,
        _ key: Range<Int>,
        in map: UnsafeRawBufferPointer,
        from place: Int
    ) -> Range<Int>? {
        var place = place
        while let keyEnd = unsafe end(in: map, at: place), let valueEnd = unsafe end(in: map, at: keyEnd) {
            if unsafe areEqual(octets, key, map, place..<keyEnd) { return keyEnd..<valueEnd }
            place = valueEnd
        }
        return nil
    }

    private static func areEqual(
        _ octets: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        _ map: UnsafeRawBufferPointer,
        _ other: Range<Int>
    ) -> Bool {
        guard range.count == other.count, let octets = octets.baseAddress, let map = map.baseAddress else {
            return false
        }
        return unsafe memcmp(octets + range.lowerBound, map + other.lowerBound, range.count) == 0
    }

    private static func end(in map: UnsafeRawBufferPointer, at position: Int) -> Int? {
        guard let head = unsafe head(in: map, at: position) else { return nil }
        switch head.major {
        case 0, 1, 7: return head.end
        case 2, 3:
            guard head.argument <= UInt64(map.count - head.end) else { return nil }
            return head.end + Int(head.argument)
        // A date: an array of one integer.
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
