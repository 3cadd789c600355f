package import KeychainModel

/// The services of the items that are no items of a client: no collection has such a name.
package enum SecretRecords {
    /// Collections: the account is the name, the label the label.
    package static let collections = "/collections"
    /// Aliases: the account is the alias, the label the collection.
    package static let aliases = "/aliases"
    /// ``ProtectionRule``s.
    package static let rules = "/rules"

    /// Whether a service is one of records.
    package static func isRecord(_ service: String) -> Bool { service.hasPrefix("/") }
}

/// What reading items requires that have certain attributes, also of those that are stored later.
package struct ProtectionRule: Sendable, Equatable {
    /// The most rules.
    package static let most = 256

    /// The account of its item.
    package let name: String
    /// The attributes that an item has to have, among others.
    package let attributes: [String: String]
    /// The access control of such items.
    package let accessControl: AccessControl

    /// Describes a rule.
    package init(name: String, attributes: [String: String], accessControl: AccessControl) {
        self.name = name
        self.attributes = attributes
        self.accessControl = accessControl
    }

    /// Reads a rule's item; nil for another item.
    package init?(_ attributes: ItemAttributes, _ reference: PersistentReference) {
        guard let item = SecretItem(attributes, reference), item.collection == SecretRecords.rules,
            case .data(let octets)? = attributes[.generic],
            let accessControl = try? AccessControl(decoding: octets)
        else { return nil }
        self.init(name: item.name, attributes: item.content.attributes, accessControl: accessControl)
    }

    /// The attributes of its item.
    package var stored: ItemAttributes {
        let content = SecretItemContent(label: "rule", attributes: attributes)
        var attributes = SecretItem.attributes(of: name, in: SecretRecords.rules, content)
        attributes[.generic] = .data(accessControl.encoded)
        attributes[.isInvisible] = .boolean(true)
        return attributes
    }

    /// Whether it is for an item with these attributes.
    package func applies(to attributes: [String: String]) -> Bool {
        self.attributes.allSatisfy { attributes[$0.key] == $0.value }
    }

    /// The rule for an item: of those that apply, the one with the most attributes, which is the most special one.
    package static func applying(to attributes: [String: String], of rules: [ProtectionRule])
        -> ProtectionRule?
    {
        rules.filter { $0.applies(to: attributes) }
            .max { ($0.attributes.count, $0.name) < ($1.attributes.count, $1.name) }
    }

    /// Whether an item with these attributes is the key with which a browser or another program encrypts its own files.
    ///
    /// Such programs read it without unlocking it, and make a new key if they do not get it: what the old one encrypted is lost.
    package static func isProgramKey(_ attributes: [String: String]) -> Bool {
        ["chrome_libsecret_os_crypt_password_v2", "chrome_libsecret_os_crypt_password_v1"]
            .contains(attributes["xdg:schema"] ?? "")
    }
}
