internal import CBOR
internal import KeychainModel
internal import Primitives

/// The keyed digests by which an item is found: HMAC-SHA256 truncated to 8 bytes, so that the file reveals neither an
/// attribute nor that two items of different groups share one.
///
/// They only locate rows: the sealed attributes are authoritative.
struct LookupDigests: Equatable {
    static let digestByteCount = 8
    static let byteCount = Part.allCases.count * digestByteCount
    fileprivate static let none = [UInt8](repeating: 0, count: digestByteCount)

    /// The content of a digest; those with a column come first, in the order of the columns.
    enum Part: Int, CaseIterable {
        /// Class and group.
        case scope
        /// The attribute named by most look-ups: account, or a key's tag.
        case first
        /// The name of an item in its scope: the primary key without synchronizable and token.
        case name
        /// The attribute named next most often: service, server, or a key's label.
        case second
        /// The user-visible label.
        case label
        /// Synchronizable and token: with ``name``, the primary key.
        case variant

        /// The digests that have a column.
        static let columns = Part.allCases.dropLast()

        /// Its position among all six digests.
        var range: Range<Int> {
            let start = rawValue * LookupDigests.digestByteCount
            return start..<(start + LookupDigests.digestByteCount)
        }
    }

    /// All six digests; zeros stand for none.
    let octets: [UInt8]

    subscript(_ part: Part) -> [UInt8] { Array(octets[part.range]) }
}

/// Computes digests with the keybag's look-up key.
struct LookupDigester {
    private let digest: KeyedDigest

    init(key: Key) {
        digest = KeyedDigest(key)
    }

    func digests(of attributes: ItemAttributes, itemClass: ItemClass, group: String) -> LookupDigests {
        let secondKey = Self.secondKey(of: itemClass)
        var octets: [UInt8] = []
        octets.reserveCapacity(LookupDigests.byteCount)
        octets += scope(itemClass, group)
        octets += first(attributes, itemClass, group)
        octets += name(attributes, itemClass, group)
        octets += value(of: secondKey, in: attributes, "second", itemClass, group) ?? LookupDigests.none
        octets += value(of: .label, in: attributes, "label", itemClass, group) ?? LookupDigests.none
        octets += digest("variant", itemClass, group) { $0.write(attributes, Self.variantKeys) }
        return LookupDigests(octets: octets)
    }

    func scope(_ itemClass: ItemClass, _ group: String) -> [UInt8] {
        digest("scope", itemClass, group) { _ in }
    }

    func name(_ attributes: ItemAttributes, _ itemClass: ItemClass, _ group: String) -> [UInt8] {
        digest("name", itemClass, group) { $0.write(attributes, Self.nameKeys(of: itemClass)) }
    }

    /// A missing attribute has a digest, too, so that one index on this and ``name(_:_:_:)`` finds every row.
    func first(_ attributes: ItemAttributes, _ itemClass: ItemClass, _ group: String) -> [UInt8] {
        digest("first", itemClass, group) { writer in
            if let key = Self.firstKey(of: itemClass) { writer.write(attributes, key) }
        }
    }

    /// The digest of one attribute; nil if it is missing or empty.
    func value(
        of attribute: AttributeKey,
        in attributes: ItemAttributes,
        _ label: String,
        _ itemClass: ItemClass,
        _ group: String
    ) -> [UInt8]? {
        guard let value = attributes[attribute], !value.isBlank else { return nil }
        return digest(label, itemClass, group) { $0.write(value) }
    }

    /// The mask that hides the row number in a reference.
    func mask(_ random: [UInt8]) -> UInt64 {
        // No encoded text starts with this byte, so no other digest has the same input.
        unsafe ([0xFF] + random).withUnsafeBytes { unsafe digest.words(of: $0).x }
    }

    private func digest(
        _ label: String,
        _ itemClass: ItemClass,
        _ group: String,
        _ rest: (inout CBORWriter<[UInt8]>) -> Void
    ) -> [UInt8] {
        var writer = CBORWriter(capacity: 128)
        writer.write(text: label)
        writer.write(text: itemClass.rawValue)
        writer.write(text: group)
        rest(&writer)
        return digest.prefix(LookupDigests.digestByteCount, of: writer.finish())
    }

    private static let variantKeys: [AttributeKey] = [.synchronizable, .tokenID]

    /// The attributes that make up the name of an item of a class.
    static func nameKeys(of itemClass: ItemClass) -> [AttributeKey] {
        nameKeys[Int(ItemHeader.code(of: itemClass))]
    }

    /// Indexed by the codes of the classes, from 1.
    private static let nameKeys: [[AttributeKey]] = {
        let others = [.accessGroup] + variantKeys
        return ItemClass.allCases.reduce(into: Array(repeating: [], count: ItemClass.allCases.count + 1)) {
            $0[Int(ItemHeader.code(of: $1))] = PrimaryKey.attributes(of: $1).filter { !others.contains($0) }
        }
    }()

    /// An attribute of the primary key, so that a query with the whole primary key has this one, too.
    static func firstKey(of itemClass: ItemClass) -> AttributeKey? {
        switch itemClass {
        case .genericPassword, .internetPassword: .account
        case .key: AttributeKey(rawValue: "atag")
        case .certificate, .identity: nil
        }
    }

    static func secondKey(of itemClass: ItemClass) -> AttributeKey {
        switch itemClass {
        case .genericPassword: .service
        case .internetPassword: .server
        case .key, .certificate, .identity: .applicationLabel
        }
    }
}

extension CBORWriter where Sink == [UInt8] {
    /// Writes the values of `keys`; missing and empty ones are written alike.
    fileprivate mutating func write(_ attributes: ItemAttributes, _ keys: [AttributeKey]) {
        writeArrayHead(count: keys.count)
        for key in keys { write(attributes, key) }
    }

    /// Writes the value of `key`; null if it is missing or empty.
    fileprivate mutating func write(_ attributes: ItemAttributes, _ key: AttributeKey) {
        if let value = attributes[key], !value.isBlank { write(value) } else { writeNull() }
    }
}

extension CBORWriter where Sink == [UInt8] {
    /// Writes to an array with reserved capacity for `capacity` bytes.
    init(capacity: Int) {
        var octets: [UInt8] = []
        octets.reserveCapacity(capacity)
        // A second reference would cause a copy at the first byte.
        self.init(consume octets)
    }
}

extension AttributeValue {
    /// Whether it is empty, zero, false or the date of zero seconds since 2001: equivalent to missing in a primary key.
    var isBlank: Bool {
        switch self {
        case .string(let text): text.isEmpty
        case .data(let octets): octets.isEmpty
        case .integer(let number): number == 0
        case .boolean(let flag): !flag
        case .date(let microseconds): microseconds == 978_307_200_000_000
        }
    }
}
