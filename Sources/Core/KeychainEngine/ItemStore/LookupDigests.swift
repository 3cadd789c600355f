internal import CBOR
internal import KeychainModel
internal import Primitives

/// The keyed digests by which an item is found: HMAC-SHA256, truncated to 8 bytes, so that the file tells neither
/// an attribute nor that two items of different groups share one.
///
/// They only say where to look: an item is what its sealed attributes say.
struct LookupDigests: Equatable {
    static let digestByteCount = 8
    static let byteCount = Part.allCases.count * digestByteCount
    fileprivate static let none = [UInt8](repeating: 0, count: digestByteCount)

    /// What a digest is of; those with a column come first, in the columns' order.
    enum Part: Int, CaseIterable {
        /// Class and group.
        case scope
        /// The attribute most look-ups name: account, or a key's tag.
        case first
        /// What names the item in its scope: the primary key but for synchronizable and token.
        case name
        /// The attribute that is named next: service, server, or a key's label.
        case second
        /// The user-visible label.
        case label
        /// Synchronizable and token: with ``name``, the primary key.
        case variant

        /// Those that have a column.
        static let columns = Part.allCases.dropLast()

        /// Where it stands among all six.
        var range: Range<Int> {
            let start = rawValue * LookupDigests.digestByteCount
            return start..<(start + LookupDigests.digestByteCount)
        }
    }

    /// All six; zeros stand for none.
    let octets: [UInt8]

    subscript(_ part: Part) -> [UInt8] { Array(octets[part.range]) }
}

/// Makes digests with the keybag's look-up key.
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

    /// A missing attribute has a digest too: with it, ``name(_:_:_:)`` is found in one index.
    func first(_ attributes: ItemAttributes, _ itemClass: ItemClass, _ group: String) -> [UInt8] {
        digest("first", itemClass, group) { writer in
            if let key = Self.firstKey(of: itemClass) { writer.write(attributes, key) }
        }
    }

    /// The digest of one attribute; nil where it is missing or empty.
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

    /// What hides the number of a row in a reference.
    func mask(_ random: [UInt8]) -> UInt64 {
        // No text starts with such a byte: no other digest has this input.
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

    /// The attributes that name an item of a class.
    static func nameKeys(of itemClass: ItemClass) -> [AttributeKey] {
        nameKeys[Int(ItemHeader.code(of: itemClass))]
    }

    /// By the codes of the classes, from 1.
    private static let nameKeys: [[AttributeKey]] = {
        let others = [.accessGroup] + variantKeys
        return ItemClass.allCases.reduce(into: Array(repeating: [], count: ItemClass.allCases.count + 1)) {
            $0[Int(ItemHeader.code(of: $1))] = PrimaryKey.attributes(of: $1).filter { !others.contains($0) }
        }
    }()

    /// An attribute of the primary key, so that who knows all of that knows this one.
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
        case .key, .certificate, .identity: AttributeKey(rawValue: "klbl")
        }
    }
}

extension CBORWriter where Sink == [UInt8] {
    /// Writes the values of `keys`; missing and empty ones are the same.
    fileprivate mutating func write(_ attributes: ItemAttributes, _ keys: [AttributeKey]) {
        writeArrayHead(count: keys.count)
        for key in keys { write(attributes, key) }
    }

    /// Writes the value of `key`; null when it is missing or empty.
    fileprivate mutating func write(_ attributes: ItemAttributes, _ key: AttributeKey) {
        if let value = attributes[key], !value.isBlank { write(value) } else { writeNull() }
    }
}

extension CBORWriter where Sink == [UInt8] {
    /// Writes to an array with room for `capacity` bytes.
    init(capacity: Int) {
        var octets: [UInt8] = []
        octets.reserveCapacity(capacity)
        // Held twice, it would be copied at the first byte.
        self.init(consume octets)
    }
}

extension AttributeValue {
    /// Empty, zero or false: the same as missing in a primary key.
    var isBlank: Bool {
        switch self {
        case .string(let text): text.isEmpty
        case .data(let octets): octets.isEmpty
        case .integer(let number): number == 0
        case .boolean(let flag): !flag
        case .date: false
        }
    }
}
