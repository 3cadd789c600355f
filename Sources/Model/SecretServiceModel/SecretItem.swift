import Crypto
package import KeychainModel

/// An item of the service in the keychain, without its secret.
///
/// It is a generic password of the group `org.freedesktop.secrets`: its service is the collection, its account the last part of its
/// path. Each attribute of the service is an attribute of the item: `fs.NAME`, or, for a name that is too long for one or not ASCII,
/// `fs#` and 28 hexadecimal digits of the name's SHA-256, with the name before the value.
package struct SecretItem: Sendable, Equatable {
    private static let prefix = "fs."
    private static let digestPrefix = "fs#"
    /// The longest name, in bytes, that is the name of an attribute of the keychain as it is, without the prefix.
    private static let longestPlainName = 29
    private static let contentTypeKey = AttributeKey(rawValue: "fs:type")

    package private(set) var collection: String
    package private(set) var name: String
    package let reference: PersistentReference
    package private(set) var content: SecretItemContent
    /// When it was stored, in microseconds since 1970.
    package let creation: Int64
    /// When it was changed last, in microseconds since 1970.
    package let modification: Int64
    package let rule: AccessControl?
    package let reading: ReadingOptions
    /// The program that stored it, and in the record of its readers those that were let through; see ``ProtectionRule/Audience/strangers(includesProgramKeys:)``.
    package private(set) var readers: ProgramFiles

    /// Whether its secret needs the user.
    package var needsGesture: Bool {
        rule.map { !$0.constraints.isEmpty || $0.needsApplicationPassword } ?? false
    }

    /// Reads the attributes of an item; nil if they are not those of an item or a record of the service.
    package init?(_ attributes: ItemAttributes, _ reference: PersistentReference) {
        guard case .string(let collection)? = attributes[.service],
            case .string(let name)? = attributes[.account]
        else { return nil }
        self.reference = reference
        self.collection = collection
        self.name = name
        creation = Self.microseconds(attributes[.creationDate])
        modification = Self.microseconds(attributes[.modificationDate])
        if case .data(let octets)? = attributes[.accessControl] {
            rule = try? AccessControl(decoding: octets)
        } else {
            rule = nil
        }
        reading = ReadingOptions(attributes)
        readers = ProgramFiles(attributes)
        var pairs: [String: String] = [:]
        for (key, value) in attributes {
            guard case .string(let text) = value else { continue }
            if key.rawValue.hasPrefix(Self.prefix) {
                pairs[String(key.rawValue.dropFirst(Self.prefix.count))] = text
            } else if key.rawValue.hasPrefix(Self.digestPrefix), let pair = Self.pair(text) {
                pairs[pair.name] = pair.value
            }
        }
        var content = SecretItemContent(attributes: pairs)
        if case .string(let label)? = attributes[.label] { content.label = label }
        if case .string(let type)? = attributes[Self.contentTypeKey] { content.contentType = type }
        self.content = content
    }

    private static func microseconds(_ value: AttributeValue?) -> Int64 {
        guard case .date(let microseconds)? = value else { return 0 }
        return max(0, microseconds)
    }

    /// The same in memory of its own, with equal texts of all items kept once: what it was read from can be given back as a whole.
    package func packed(sharing texts: inout Set<String>) -> SecretItem {
        func kept(_ text: String, _ texts: inout Set<String>) -> String {
            if let index = texts.firstIndex(of: text) { return texts[index] }
            return texts.insert(String(decoding: Array(text.utf8), as: UTF8.self)).memberAfterInsert
        }
        var copy = self
        copy.collection = kept(collection, &texts)
        copy.name = String(decoding: Array(name.utf8), as: UTF8.self)
        copy.content = SecretItemContent(
            label: kept(content.label, &texts),
            attributes: [:],
            contentType: kept(content.contentType, &texts)
        )
        copy.readers = ProgramFiles(text: kept(readers.text, &texts))
        copy.content.attributes.reserveCapacity(content.attributes.count)
        for (name, value) in content.attributes {
            copy.content.attributes[kept(name, &texts)] = kept(value, &texts)
        }
        return copy
    }

    /// Whether another one is listed after this one: the newest come first.
    package func precedes(_ other: SecretItem) -> Bool {
        (modification, creation, name) > (other.modification, other.creation, other.name)
    }

    // MARK: Attributes

    /// The attributes of the keychain for those of the service, to store and to search.
    package static func stored(_ pairs: [String: String]) -> ItemAttributes {
        var attributes = ItemAttributes(minimumCapacity: pairs.count + 4)
        for (name, value) in pairs {
            let isPlain =
                name.utf8.count <= longestPlainName && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            if isPlain {
                attributes[AttributeKey(rawValue: prefix + name)] = .string(value)
            } else {
                let digest = SHA256.hash(data: Array(name.utf8)).prefix(14)
                let key = digestPrefix + Hexadecimal.text(digest)
                attributes[AttributeKey(rawValue: key)] = .string("\(name.utf8.count):\(name)\(value)")
            }
        }
        return attributes
    }

    /// All attributes of a new item.
    package static func attributes(
        of name: String,
        in collection: String,
        _ content: SecretItemContent,
        _ reading: ReadingOptions = ReadingOptions(),
        readers: ProgramFiles = ProgramFiles()
    ) -> ItemAttributes {
        var attributes = stored(content.attributes)
        if reading != ReadingOptions() { attributes[ReadingOptions.key] = reading.stored }
        attributes.merge(readers.attributes) { $1 }
        attributes[.accessGroup] = .string(AccessGroup.secretService.name)
        attributes[.service] = .string(collection)
        attributes[.account] = .string(name)
        attributes[.label] = .string(content.label)
        attributes[contentTypeKey] = .string(content.contentType)
        return attributes
    }

    /// Splits a value with a name before it.
    private static func pair(_ text: String) -> (name: String, value: String)? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), let count = Int(text[..<colon]),
            count >= 0
        else { return nil }
        let rest = text.utf8[text.utf8.index(after: colon)...]
        guard rest.count >= count, let name = String(Substring(rest.prefix(count)).utf8),
            let value = String(Substring(rest.dropFirst(count)).utf8)
        else { return nil }
        return (name, value)
    }
}
