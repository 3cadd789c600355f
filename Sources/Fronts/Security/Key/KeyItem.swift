import Foundation
import KeychainModel
import SecretMemory

/// A keychain item that holds a key.
struct KeyItem {
    /// The item's attributes: the app's and the key's, with precedence for the app's.
    let attributes: ItemAttributes
    /// The access control for reading the item.
    let accessControl: AccessControl
    private let data: Data?

    /// Makes the item for a query.
    ///
    /// Data that cannot be parsed as a key is stored unchanged: apps store keys in formats of their own.
    init(_ query: ParsedQuery, _ accessControl: AccessControl) throws(KeychainError) {
        let material = query.key?.material ?? Self.material(query)
        var attributes = query.attributes.values.merging(material?.attributes ?? [:]) { given, _ in given }
        // Data that are no key have no class, of which zero is the default, so that both are the same item.
        if material == nil, attributes[.keyClass] == .string("0") { attributes[.keyClass] = nil }
        attributes[.isPermanent] = .boolean(true)
        if let token = material?.token {
            // The key's access control applies to its use; finding the item needs no prompt.
            self.accessControl = try AccessControl(
                accessibility: token.key.accessControl.accessibility,
                flags: .privateKeyUsage
            )
            attributes[.keyAccessControl] = .data(token.key.accessControl.encoded)
            data = Data(token.key.representation)
        } else {
            self.accessControl = accessControl
            data = query.key == nil ? query.data : material?.privateData as Data?
        }
        self.attributes = attributes
    }

    /// A copy of the data to store, in locked memory.
    func secret() throws(KeychainError) -> SecretBytes? { try Security.secret(data) }

    private static func material(_ query: ParsedQuery) -> KeyMaterial? {
        guard let data = query.data else { return nil }
        var octets = [UInt8](data)
        defer { wipe(&octets) }
        return try? KeyMaterial(query.attributes.values, octets: octets)
    }
}

extension KeyMaterial {
    /// Parses the key in an item; without `kSecAttrKeyClass` it is a public key, as in Apple's schema.
    ///
    /// - Throws: `errSecParam` for a class, type or data that is not a supported key.
    init(_ attributes: ItemAttributes, octets: [UInt8]) throws(KeychainError) {
        let keyClass = attributes.code(of: .keyClass)
        guard let type = KeyType(rawValue: attributes.code(of: .type)), keyClass == "0" || keyClass == "1"
        else { throw .notAKey }
        try self.init(type: type, isPrivate: keyClass == "1", octets: octets)
    }
}

extension SecKey {
    /// Makes the key that an item holds.
    ///
    /// - Throws: `errSecDecode` for an item without a key, and the errors of a hardware key:
    ///   `errSecItemNotFound` if it was invalidated by a change of the enrolled fingers.
    convenience init(
        _ attributes: ItemAttributes,
        _ data: borrowing SecretBytes,
        _ item: PersistentReference?,
        _ wishes: PromptWishes
    ) throws(KeychainError) {
        var octets = data.withUnsafeBytes { [UInt8]($0) }
        defer { wipe(&octets) }
        if attributes.isToken {
            self.init(.ecPrivate(try TokenKey(reading: octets, wishes)), item: item)
            return
        }
        guard let material = try? KeyMaterial(attributes, octets: octets) else {
            throw .key(.decode, "the item holds no key")
        }
        self.init(material, item: item)
    }
}

extension ItemAttributes {
    /// Whether the item holds a private key in the keychain's hardware, whose data is not returned to apps.
    var isToken: Bool { self[.tokenID] == .string(SecKey.tokenID) && code(of: .keyClass) == "1" }

    /// The class or type of a key as text; "0" if it is missing.
    fileprivate func code(of key: AttributeKey) -> String {
        switch self[key] {
        case .string(let text): text
        case .integer(let number): String(number)
        default: "0"
        }
    }
}
