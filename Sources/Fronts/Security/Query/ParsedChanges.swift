package import Foundation
package import KeychainModel

/// The parsed second dictionary of `SecItemUpdate`: attributes and data only.
package struct ParsedChanges {
    /// The attributes to set, without access control.
    package private(set) var attributes = ParsedAttributes()
    /// The new data; nil leaves the data unchanged.
    package private(set) var data: Data?

    /// Parses a dictionary; `itemClass` is nil if the items are named by reference.
    ///
    /// - Throws: `errSecParam` for return keys, unknown keys, wrong types and an empty dictionary,
    ///   `errSecNoSuchAttr` for an attribute that the class does not have, including `kSecClass`, and
    ///   `errSecDataTooLarge`.
    package init(_ dictionary: NSDictionary, of itemClass: ItemClass?) throws(KeychainError) {
        try self.init(dictionary.pairs, of: itemClass)
    }

    /// Parses keys and values, as the other initialiser does.
    package init(_ pairs: some Sequence<(Any, Any)>, of itemClass: ItemClass?) throws(KeychainError) {
        var isEmpty = true
        for (key, value) in pairs {
            isEmpty = false
            guard let name = text(key) else { throw .param("a key that is not text") }
            try accept(name, value, itemClass)
        }
        if isEmpty { throw .param("nothing to change") }
        try attributes.judge()
        try attributes.judgeForStorage()
    }

    private mutating func accept(_ name: String, _ value: Any, _ itemClass: ItemClass?) throws(KeychainError)
    {
        switch name {
        case "v_Data":
            guard let octets = value as? Data else { throw .wrongType(name) }
            guard octets.count <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
            data = octets
        case "class":
            throw KeychainError(.noSuchAttr, cause: DriverCause(domain: "query", code: name))
        case _ where ["r_", "m_", "u_", "v_"].contains(where: name.hasPrefix):
            throw .param("not an attribute")
        default:
            guard let itemClass else { return try acceptUnclassed(name, value) }
            try attributes.accept(name, value, of: itemClass)
        }
    }

    /// Adds an attribute of an item named by reference, whose class only the daemon knows.
    private mutating func acceptUnclassed(_ name: String, _ value: Any) throws(KeychainError) {
        let classes = [ItemClass.genericPassword, .internetPassword, .key]
        let itemClass = classes.first { AttributeTable.kind(of: name, in: $0) != nil }
        try attributes.accept(name, value, of: itemClass ?? .genericPassword)
    }

    /// The new access control: the given one, or one with only the new accessibility.
    package var accessControl: AccessControl? {
        attributes.accessControl ?? attributes.accessibility.map { AccessControl(accessibility: $0) }
    }
}
