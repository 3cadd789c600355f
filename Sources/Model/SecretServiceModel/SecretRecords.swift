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

/// What reading items requires that have certain attributes, also of those that are stored later; or what certain programs have to ask
/// for, whatever the items require.
package struct ProtectionRule: Sendable, Equatable {
    /// The most rules.
    package static let most = 256
    /// The most programs of a rule.
    package static let mostPrograms = 16
    private static let programsKey = AttributeKey(rawValue: "fs:programs")

    /// The account of its item.
    package let name: String
    /// The attributes that an item has to have, among others.
    package let attributes: [String: String]
    /// The access control of such items.
    package let accessControl: AccessControl
    /// How the gesture is asked for.
    package let reading: ReadingOptions
    /// The names of programs, sorted: the rule is for them and for what they started.
    ///
    /// Empty for a rule of the items themselves. Otherwise it is the door that asks: the items' keys are wrapped as before, and a
    /// program that hides its name is not found.
    package let programs: [String]

    /// Describes a rule.
    package init(
        name: String,
        attributes: [String: String],
        accessControl: AccessControl,
        reading: ReadingOptions = ReadingOptions(),
        programs: [String] = []
    ) {
        self.name = name
        self.attributes = attributes
        self.accessControl = accessControl
        self.reading = reading
        self.programs = programs.sorted()
    }

    /// Reads a rule's item; nil for another item.
    package init?(_ attributes: ItemAttributes, _ reference: PersistentReference) {
        guard let item = SecretItem(attributes, reference), item.collection == SecretRecords.rules,
            case .data(let octets)? = attributes[.generic],
            let accessControl = try? AccessControl(decoding: octets)
        else { return nil }
        var programs: [String] = []
        if case .string(let text)? = attributes[Self.programsKey] {
            programs = text.split(separator: "\n").map(String.init)
        }
        self.init(
            name: item.name,
            attributes: item.content.attributes,
            accessControl: accessControl,
            reading: item.reading,
            programs: programs
        )
    }

    /// The attributes of its item.
    package var stored: ItemAttributes {
        let content = SecretItemContent(label: "rule", attributes: attributes)
        var attributes = SecretItem.attributes(of: name, in: SecretRecords.rules, content, reading)
        if !programs.isEmpty { attributes[Self.programsKey] = .string(programs.joined(separator: "\n")) }
        attributes[.generic] = .data(accessControl.encoded)
        attributes[.isInvisible] = .boolean(true)
        return attributes
    }

    /// Whether it is for an item with these attributes.
    package func applies(to attributes: [String: String]) -> Bool {
        self.attributes.allSatisfy { attributes[$0.key] == $0.value }
    }

    /// The rule for an item: of those that apply, the one with the most attributes, which is the most special one.
    ///
    /// - Parameters:
    ///   - attributes: the item's.
    ///   - rules: the rules of items, or those that are for a program.
    /// - Returns: the rule; nil if none applies.
    package static func applying(to attributes: [String: String], of rules: some Sequence<ProtectionRule>)
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
