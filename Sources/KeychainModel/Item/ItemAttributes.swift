import CBOR

/// The name of an item's attribute: the string value of Apple's `kSecAttr…` constant (`acct`, `svce`, …).
public struct AttributeKey: RawRepresentable, Hashable, Comparable, Sendable {
    /// Apple's string, for example `acct`.
    public let rawValue: String

    /// Names an attribute by Apple's string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Orders ASCII, as all Apple's names are, by the encoded key of RFC 8949 section 4.2.1: shorter first, then
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
    /// Octets.
    case data([UInt8])
    /// A whole number.
    case integer(Int64)
    /// True or false.
    case boolean(Bool)
    /// Microseconds since 1970-01-01 00:00:00 UTC.
    case date(Int64)

    /// Compares text by its octets, as the store does: two spellings of one letter are two values.
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

/// What describes an item beside its secret, by attribute name.
public typealias ItemAttributes = [AttributeKey: AttributeValue]
