import CBOR

/// The name of an item's attribute: the string value of Apple's `kSecAttr…` constant (`acct`, `svce`, …).
public struct AttributeKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// Apple's string, for example `acct`.
    public let rawValue: String

    /// Names an attribute by Apple's string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Orders ASCII names, as all of Apple's are, by their encoding (RFC 8949, section 4.2.1): shorter first, then
    /// bytewise.
    public static func < (lhs: Self, rhs: Self) -> Bool {
        let (left, right) = (lhs.rawValue.utf8.count, rhs.rawValue.utf8.count)
        return left == right ? lhs.rawValue < rhs.rawValue : left < right
    }

    /// `kSecAttrAccount`.
    public static let account = AttributeKey(rawValue: "acct")
    /// `kSecAttrService`.
    public static let service = AttributeKey(rawValue: "svce")
    /// `kSecAttrAccessGroup`.
    public static let accessGroup = AttributeKey(rawValue: "agrp")
    /// `kSecAttrSynchronizable`.
    public static let synchronizable = AttributeKey(rawValue: "sync")
    /// `kSecAttrTokenID`.
    public static let tokenID = AttributeKey(rawValue: "tkid")
    /// `kSecAttrLabel`.
    public static let label = AttributeKey(rawValue: "labl")
    /// `kSecAttrDescription`.
    public static let itemDescription = AttributeKey(rawValue: "desc")
    /// `kSecAttrComment`.
    public static let comment = AttributeKey(rawValue: "icmt")
    /// `kSecAttrGeneric`.
    public static let generic = AttributeKey(rawValue: "gena")
    /// `kSecAttrCreator`.
    public static let creator = AttributeKey(rawValue: "crtr")
    /// `kSecAttrType`.
    public static let type = AttributeKey(rawValue: "type")
    /// `kSecAttrIsInvisible`.
    public static let isInvisible = AttributeKey(rawValue: "invi")
    /// `kSecAttrIsNegative`.
    public static let isNegative = AttributeKey(rawValue: "nega")
    /// `kSecAttrCreationDate`.
    public static let creationDate = AttributeKey(rawValue: "cdat")
    /// `kSecAttrModificationDate`.
    public static let modificationDate = AttributeKey(rawValue: "mdat")
    /// `kSecAttrAccessible`.
    public static let accessible = AttributeKey(rawValue: "pdmn")
    /// `kSecAttrAccessControl`: the encoded ``AccessControl``.
    public static let accessControl = AttributeKey(rawValue: "accc")
    /// The digests that compare an item without opening it (``ReplaceItem/mark``); made and kept by the store alone.
    public static let secretMark = AttributeKey(rawValue: "smrk")
    /// `kSecAttrApplicationLabel`.
    public static let applicationLabel = AttributeKey(rawValue: "klbl")
    /// The private keys that are deleted with an item, as its writer names them (``AttributeValue/keys(_:)``); not stored.
    public static let namedKeys = AttributeKey(rawValue: "nkey")
    /// The private keys that are deleted with an item; made and kept by the store alone.
    public static let heldKeys = AttributeKey(rawValue: "hkey")
    /// How often a private key with a limited number of uses was used; in a row that is no item, made by the store alone.
    public static let keyUses = AttributeKey(rawValue: "kuse")
    /// When the daemon deletes the item: a date; nil for never.
    public static let ends = AttributeKey(rawValue: "ends")
    /// `kSecAttrSecurityDomain`.
    public static let securityDomain = AttributeKey(rawValue: "sdmn")
    /// `kSecAttrServer`.
    public static let server = AttributeKey(rawValue: "srvr")
    /// `kSecAttrProtocol`.
    public static let `protocol` = AttributeKey(rawValue: "ptcl")
    /// `kSecAttrAuthenticationType`.
    public static let authenticationType = AttributeKey(rawValue: "atyp")
    /// `kSecAttrPort`.
    public static let port = AttributeKey(rawValue: "port")
    /// `kSecAttrPath`.
    public static let path = AttributeKey(rawValue: "path")
}

/// The value of an attribute.
public enum AttributeValue: Hashable, Sendable {
    /// Text.
    case string(String)
    /// Bytes.
    case data([UInt8])
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    case date(Int64)

    /// Compares text bytewise, as the store does: two encodings of one letter are two values.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        switch (lhs, rhs) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.data(let left), .data(let right)): left == right
        case (.integer(let left), .integer(let right)), (.date(let left), .date(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        default: false
        }
    }
}

/// An item's attributes, apart from its secret: values by attribute name, in the order of the names.
///
/// An item has a handful: a linear search takes less time than hashing a name.
public struct ItemAttributes: Sendable {
    /// An attribute.
    public typealias Element = (key: AttributeKey, value: AttributeValue)

    private var pairs: [Element] = []

    /// No attributes.
    public init() {}

    /// No attributes, with room for `minimumCapacity`.
    public init(minimumCapacity: Int) { pairs.reserveCapacity(minimumCapacity) }

    /// The value of an attribute, or nil; setting nil removes it.
    public subscript(key: AttributeKey) -> AttributeValue? {
        get {
            for pair in pairs where pair.key == key { return pair.value }
            return nil
        }
        set {
            // Most attributes are set in order.
            var index = pairs.endIndex
            while index > 0, !(pairs[index - 1].key < key) { index -= 1 }
            let isThere = index < pairs.endIndex && pairs[index].key == key
            switch (newValue, isThere) {
            case (let value?, true): pairs[index].value = value
            case (let value?, false): pairs.insert((key, value), at: index)
            case (nil, true): pairs.remove(at: index)
            case (nil, false): break
            }
        }
    }

    /// Adds the attributes of `others`; `combine` chooses between two values of one name.
    public mutating func merge(
        _ others: Self,
        uniquingKeysWith combine: (AttributeValue, AttributeValue) -> AttributeValue
    ) {
        for (key, value) in others { self[key] = self[key].map { combine($0, value) } ?? value }
    }

    /// These attributes with those of `others` added; `combine` chooses between two values of one name.
    public func merging(
        _ others: Self,
        uniquingKeysWith combine: (AttributeValue, AttributeValue) -> AttributeValue
    ) -> Self {
        var merged = self
        merged.merge(others, uniquingKeysWith: combine)
        return merged
    }

    /// The attributes that `isIncluded` selects.
    public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Self {
        var chosen = self
        chosen.pairs = try pairs.filter(isIncluded)
        return chosen
    }
}

extension ItemAttributes: RandomAccessCollection {
    /// The index of the first attribute, in the order of the names.
    public var startIndex: Int { pairs.startIndex }
    /// The index after the last attribute.
    public var endIndex: Int { pairs.endIndex }
    /// The attribute at an index.
    public subscript(position: Int) -> Element { pairs[position] }
}

extension ItemAttributes: Equatable {
    /// Whether both have the same names and values, in whatever order they were set.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.pairs.elementsEqual(rhs.pairs, by: ==) }
}

extension ItemAttributes: ExpressibleByDictionaryLiteral {
    /// Sets the attributes; if a name occurs twice, the last value counts.
    public init(dictionaryLiteral elements: (AttributeKey, AttributeValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}
