import KeychainModel

/// What the values of an attribute look like.
enum AttributeKind: Sendable {
    /// Text; octets are kept as octets.
    case text
    /// A whole number.
    case number
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
        case .key, .certificate, .identity: nil
        }
    }

    /// Whether any class has an attribute of this name.
    static func isKnown(_ name: String) -> Bool {
        common[name] != nil || passwords[name] != nil || genericPassword[name] != nil
            || internetPassword[name] != nil || otherClasses.contains(name)
    }

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
    /// Attributes that only keys, certificates and identities have.
    private static let otherClasses: Set<String> = [
        "kcls", "klbl", "perm", "sens", "extr", "atag", "bsiz", "esiz", "encr", "decr", "drve", "sign",
        "vrfy",
        "wrap", "unwp", "subj", "issr", "slnr", "skid", "pkhh", "ctyp", "cenc",
    ]
}
