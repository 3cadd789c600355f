package import KeychainModel

/// The services of the items that are no items of a client: no collection has such a name.
package enum SecretRecords {
    /// Collections: the account is the name, the label the label.
    package static let collections = "/collections"
    /// Aliases: the account is the alias, the label the collection.
    package static let aliases = "/aliases"
    /// ``ProtectionRule``s.
    package static let rules = "/rules"
    /// The programs that were let through to an item: the account is the item's name.
    package static let readers = "/readers"

    /// Whether a service is one of records.
    package static func isRecord(_ service: String) -> Bool { service.hasPrefix("/") }
}

/// What reading items requires that have certain attributes, also of those that are stored later; or what certain programs, or all that
/// did not store an item, have to ask for, whatever the items require.
package struct ProtectionRule: Sendable, Equatable {
    /// The most rules.
    package static let most = 256
    /// The most programs of a rule.
    package static let mostPrograms = 16
    private static let programsKey = AttributeKey(rawValue: "fs:programs")
    private static let strangersKey = AttributeKey(rawValue: "fs:foreign")
    private static let withProgramKeys = "program keys"

    /// Whom a rule is for.
    ///
    /// A rule for some programs is the door's: the items' keys are wrapped as before, and a program that appears as another one is not
    /// found.
    package enum Audience: Sendable, Equatable {
        /// Every program: the items' keys are wrapped by the rule.
        case everyone
        /// Those with one of these names, sorted, and what they started.
        case programs([String])
        /// Each program that did not store the item, once: then it may read the item. An updated program is another one.
        ///
        /// The keys of ``isProgramKey(_:)`` only if they are included.
        case strangers(includesProgramKeys: Bool)
    }

    /// The account of its item.
    package let name: String
    /// The attributes that an item has to have, among others.
    package let attributes: [String: String]
    /// The access control of such items.
    package let accessControl: AccessControl
    /// How the gesture is asked for.
    package let reading: ReadingOptions
    /// Whom it is for.
    package let audience: Audience

    /// Whether it is for programs that did not store an item.
    package var isForStrangers: Bool { if case .strangers = audience { true } else { false } }

    /// Describes a rule.
    package init(
        name: String,
        attributes: [String: String],
        accessControl: AccessControl,
        reading: ReadingOptions = ReadingOptions(),
        audience: Audience = .everyone
    ) {
        self.name = name
        self.attributes = attributes
        self.accessControl = accessControl
        self.reading = reading
        self.audience = audience
    }

    /// Reads a rule's item; nil for another item.
    package init?(_ attributes: ItemAttributes, _ reference: PersistentReference) {
        guard let item = SecretItem(attributes, reference), item.collection == SecretRecords.rules,
            case .data(let octets)? = attributes[.generic],
            let accessControl = try? AccessControl(decoding: octets)
        else { return nil }
        self.init(
            name: item.name,
            attributes: item.content.attributes,
            accessControl: accessControl,
            reading: item.reading,
            audience: Self.audience(attributes)
        )
    }

    private static func audience(_ attributes: ItemAttributes) -> Audience {
        switch (attributes[programsKey], attributes[strangersKey]) {
        case (.string(let text)?, _):
            .programs(text.utf8.split(separator: UInt8(ascii: "\n")).map { String(Substring($0)) })
        case (_, let text?): .strangers(includesProgramKeys: text == .string(withProgramKeys))
        default: .everyone
        }
    }

    private var audienceAttributes: ItemAttributes {
        switch audience {
        case .everyone: [:]
        case .programs(let names): [Self.programsKey: .string(names.joined(separator: "\n"))]
        case .strangers(let includesProgramKeys):
            [Self.strangersKey: .string(includesProgramKeys ? Self.withProgramKeys : "")]
        }
    }

    /// The attributes of its item.
    package var stored: ItemAttributes {
        let content = SecretItemContent(label: "rule", attributes: attributes)
        var attributes = SecretItem.attributes(of: name, in: SecretRecords.rules, content, reading)
        attributes[.isInvisible] = .boolean(true)
        return attributes.merging(changeable) { $1 }
    }

    /// Those of ``stored`` in which it may differ from another rule for the same items and programs.
    package var changeable: ItemAttributes {
        var attributes = audienceAttributes.merging(reading.attributes) { $1 }
        attributes[.generic] = .data(accessControl.encoded)
        return attributes
    }

    /// Whether it is the rule for these items and programs, of which there is one.
    package func isFor(_ attributes: [String: String], _ audience: Audience) -> Bool {
        guard self.attributes == attributes else { return false }
        switch (self.audience, audience) {
        case (.strangers, .strangers): return true
        case let (one, other): return one == other
        }
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
    /// Chromium asks for it at each start, and without it deletes the cookies that it cannot read.
    package static func isProgramKey(_ attributes: [String: String]) -> Bool {
        ["chrome_libsecret_os_crypt_password_v2", "chrome_libsecret_os_crypt_password_v1"]
            .contains(attributes["xdg:schema"] ?? "")
    }
}
