import Foundation
import KeychainModel
import SecretMemory

/// A key as an item of the keychain.
struct KeyItem {
    /// Its attributes: the app's, then the key's own.
    let attributes: ItemAttributes
    /// What reading the item demands.
    let accessControl: AccessControl
    private let data: Data?

    /// The item to add.
    ///
    /// Data that is no key is kept as it is: apps store keys of their own making.
    init(_ query: ParsedQuery, _ accessControl: AccessControl) throws(KeychainError) {
        let material = query.key?.material ?? Self.material(query)
        var attributes = query.attributes.values.merging(material?.attributes ?? [:]) { given, _ in given }
        attributes[.isPermanent] = .boolean(true)
        if let token = material?.token {
            // The key demands the user when it is used; to find it, nobody is needed.
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

    /// A copy of what is to be kept.
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
    /// Reads a key of an item.
    ///
    /// - Throws: `errSecParam` for what is no key here.
    init(keyClass: String, type: String, octets: [UInt8]) throws(KeychainError) {
        guard let type = KeyType(rawValue: type), keyClass == "0" || keyClass == "1" else { throw .notAKey }
        try self.init(type: type, isPrivate: keyClass == "1", octets: octets)
    }
}

extension SecKey {
    /// The key that an item holds.
    ///
    /// - Throws: `errSecDecode` for an item that holds none, and what stands in the way of a key in hardware:
    ///   `errSecItemNotFound` when its enrolled set is gone.
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
    /// Whether the item's key is in the keychain's hardware: its data is not for apps.
    var isToken: Bool { self[.tokenID] == .string(SecKey.tokenID) && self[.keyClass] == .string("1") }
}
