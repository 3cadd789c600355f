import KeychainModel

/// The accepted types of an attribute's value.
enum AttributeKind: Sendable {
    /// Text; bytes and integers are also accepted and stored unchanged.
    case text
    /// Bytes; text is converted to UTF-8, as on Apple's systems.
    case octets
    /// An integer, also as text or as a Boolean; other text is stored as text.
    case number
    /// A constant whose value is a number's text; the number itself and a Boolean are accepted too.
    case code
    /// A Boolean, also as 1 and 0.
    case flag
    /// A date.
    case date
    /// One of the `kSecAttrAccessible…` values.
    case accessible
    /// A ``SecAccessControl``.
    case accessControl
    /// The name of an access group.
    case accessGroup
    /// True, false or ``kSecAttrSynchronizableAny``.
    case synchronizable
}

/// The attributes of each class, with Apple's names.
enum AttributeTable {
    /// The type of an attribute; nil if the class has no attribute of this name.
    static func kind(of name: String, in itemClass: ItemClass) -> AttributeKind? {
        switch itemClass {
        case .genericPassword: common[name] ?? passwords[name] ?? genericPassword[name]
        case .internetPassword: common[name] ?? passwords[name] ?? internetPassword[name]
        case .key: common[name] ?? key[name]
        case .certificate: common[name] ?? certificate[name]
        case .identity: common[name] ?? certificate[name] ?? key[name]
        }
    }

    /// Whether an unknown key is reported as an unknown attribute: all attributes have names of four
    /// characters.
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
        "sdmn": .text, "srvr": .text, "ptcl": .number, "atyp": .text, "port": .number, "path": .text,
    ]
    /// Certificates are not stored: their attributes are only read in searches, which find nothing.
    private static let certificate: [String: AttributeKind] = [
        "ctyp": .number, "cenc": .number, "subj": .octets, "issr": .octets, "slnr": .octets, "skid": .octets,
        "pkhh": .octets,
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
