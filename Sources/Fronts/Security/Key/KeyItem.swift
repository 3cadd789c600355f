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
        guard let data = query.data, case .string(let keyClass)? = query.attributes.values[.keyClass],
            case .string(let type)? = query.attributes.values[.type]
        else { return nil }
        var octets = [UInt8](data)
        defer { wipe(&octets) }
        return try? KeyMaterial(keyClass: keyClass, type: type, octets: octets)
    }
}

extension KeyMaterial {
    /// Parses the key in an item.
    ///
    /// - Throws: `errSecParam` for a class, type or data that is not a supported key.
    init(keyClass: String, type: String, octets: [UInt8]) throws(KeychainError) {
        guard let type = KeyType(rawValue: type), keyClass == "0" || keyClass == "1" else { throw .notAKey }
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
        guard case .string(let keyClass)? = attributes[.keyClass],
            case .string(let type)? = attributes[.type],
            let material = try? KeyMaterial(keyClass: keyClass, type: type, octets: octets)
        else { throw .key(.decode, "the item holds no key") }
        self.init(material, item: item)
    }
}

extension ItemAttributes {
    /// Whether the item holds a private key in the keychain's hardware, whose data is not returned to apps.
    var isToken: Bool { self[.tokenID] == .string(SecKey.tokenID) && self[.keyClass] == .string("1") }
}
