import KeychainModel

/// What the values of an attribute look like.
enum AttributeKind: Sendable {
    /// Text; bytes and whole numbers are kept as what they are.
    case text
    /// Bytes; text counts as its UTF-8, as on Apple's systems.
    case octets
    /// A whole number, also as text or as a truth value; other text is kept as text.
    case number
    /// One of the constants that are numbers as text, also as the number.
    case code
    /// True or false, also as 1 and 0.
    case flag
    /// A date.
    case date
    /// One of the `kSecAttrAccessible…` values.
    case accessible
    /// A ``SecAccessControl``.
    case accessControl
    /// The name of a group.
    case accessGroup
    /// True, false or ``kSecAttrSynchronizableAny``.
    case synchronizable
}

/// The attributes of each class, by Apple's strings.
enum AttributeTable {
    /// An attribute of this class; nil when the class has none of this name.
    static func kind(of name: String, in itemClass: ItemClass) -> AttributeKind? {
        switch itemClass {
        case .genericPassword: common[name] ?? passwords[name] ?? genericPassword[name]
        case .internetPassword: common[name] ?? passwords[name] ?? internetPassword[name]
        case .key: common[name] ?? key[name]
        case .certificate, .identity: nil
        }
    }

    /// Whether a key that no attribute of the class has is taken for one: it is as long as all of them.
    static func isNamedAsOne(_ name: String) -> Bool { name.utf16.count == 4 }

    private static let common: [String: AttributeKind] = [
        "pdmn": .accessible, "accc": .accessControl, "agrp": .accessGroup, "sync": .synchronizable,
        "labl": .text, "cdat": .date, "mdat": .date, "tkid": .text, "vwht": .text,
    ]
    private static let passwords: [String: AttributeKind] = [
        "acct": .text, "desc": .text, "icmt": .text, "crtr": .number, "type": .number,
        "invi": .flag, "nega": .flag,
    ]
    private static let genericPassword: [String: AttributeKind] = ["svce": .text, "gena": .text]
    private static let internetPassword: [String: AttributeKind] = [
        "sdmn": .text, "srvr": .text, "ptcl": .text, "atyp": .text, "port": .number, "path": .text,
    ]
    private static let key: [String: AttributeKind] = [
        "kcls": .code, "type": .code, "bsiz": .number, "esiz": .number, "crtr": .number,
        "klbl": .octets, "atag": .octets, "sdat": .date, "edat": .date,
        "perm": .flag, "priv": .flag, "modi": .flag, "sens": .flag, "asen": .flag, "extr": .flag,
        "next": .flag,
        "encr": .flag, "decr": .flag, "drve": .flag, "sign": .flag, "vrfy": .flag, "snrc": .flag,
        "vyrc": .flag, "wrap": .flag, "unwp": .flag,
    ]
}
