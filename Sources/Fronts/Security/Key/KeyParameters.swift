import Foundation
import KeychainModel

/// The parsed dictionary of a function that makes keys; its inner dictionaries take precedence.
struct KeyParameters {
    /// `kSecAttrKeyType`.
    let type: KeyType
    /// `kSecAttrKeySizeInBits`.
    let sizeInBits: Int?
    /// `kSecAttrTokenID`; only the Secure Enclave's is supported.
    let tokenID: String?
    /// The parameters of the private key's item.
    let privateKey: KeyItemParameters
    /// The parameters of the public key's item.
    let publicKey: KeyItemParameters

    /// Parses a dictionary.
    ///
    /// - Throws: `errSecParam` for a missing or unknown type, an unknown token, and values of a wrong type.
    init(_ dictionary: NSDictionary) throws(KeychainError) {
        var outer: [String: Any] = [:]
        for (key, value) in dictionary.pairs {
            guard let name = key as? String else { throw .param("a key that is not text") }
            outer[name] = value
        }
        let privateAttributes = try Self.dictionary(outer.removeValue(forKey: "private"), "private")
        let publicAttributes = try Self.dictionary(outer.removeValue(forKey: "public"), "public")
        // Apple's code reads these from the outer dictionary, but apps also put them into the private one.
        func find(_ name: String) -> Any? { outer[name] ?? privateAttributes[name] }
        guard let typeValue = find("type") else { throw .param("no kSecAttrKeyType") }
        guard let type = KeyType(rawValue: Self.code(typeValue) ?? "") else { throw .wrongType("type") }
        self.type = type
        sizeInBits = try find("bsiz").map { value throws(KeychainError) in
            guard let size = Self.code(value).flatMap(Int.init) else { throw .wrongType("bsiz") }
            return size
        }
        tokenID = try find("tkid").map { value throws(KeychainError) in
            guard let token = value as? String, token == SecKey.tokenID else { throw .wrongType("tkid") }
            return token
        }
        for name in ["type", "bsiz", "kcls", "tkid"] { outer[name] = nil }
        privateKey = try KeyItemParameters(
            privateAttributes.merging(outer) { inner, _ in inner },
            isToken: tokenID != nil
        )
        publicKey = try KeyItemParameters(
            publicAttributes.merging(outer) { inner, _ in inner },
            isToken: false
        )
    }

    /// A number, or a number's text, as text.
    fileprivate static func code(_ value: Any) -> String? {
        (value as? String) ?? (value as? Int).map(String.init)
    }

    private static func dictionary(_ value: Any?, _ name: String) throws(KeychainError) -> [String: Any] {
        guard let value else { return [:] }
        guard let dictionary = value as? NSDictionary else { throw .wrongType(name) }
        var attributes: [String: Any] = [:]
        for (key, value) in dictionary.pairs {
            guard let name = key as? String else { throw .param("a key that is not text") }
            attributes[name] = value
        }
        return attributes
    }
}

/// The parameters of a key that is made from data: its type and class, as Apple's code reads nothing else.
struct KeyDataParameters {
    /// `kSecAttrKeyType`.
    let type: KeyType
    /// `kSecAttrKeyClass`: whether it is private.
    let isPrivate: Bool

    /// Parses a dictionary; the size and all other attributes may have any value.
    ///
    /// - Throws: `errSecParam` for a missing or unsupported type or class, `errSecUnimplemented` with
    ///   `kSecAttrTokenID`.
    init(_ dictionary: NSDictionary) throws(KeychainError) {
        var codes: [String: String] = [:]
        for (key, value) in dictionary.pairs {
            guard let name = text(key) else { continue }
            if name == "tkid" { throw .key(.unimplemented, "hardware takes no key") }
            codes[name] = KeyParameters.code(value)
        }
        guard let type = codes["type"].flatMap(KeyType.init) else {
            throw .key(.param, "no supported kSecAttrKeyType")
        }
        self.type = type
        switch codes["kcls"] {
        case "0": isPrivate = false
        case "1": isPrivate = true
        default: throw .key(.param, "kSecAttrKeyClass is neither public nor private")
        }
    }
}

/// The parameters of one new key's item.
struct KeyItemParameters {
    /// Whether the key is stored in the keychain.
    let isPermanent: Bool
    /// The query to add the item, without the key; nil for a key that is not stored.
    let query: ParsedQuery?

    init(_ attributes: [String: Any], isToken: Bool) throws(KeychainError) {
        var attributes = attributes
        isPermanent =
            try attributes.removeValue(forKey: "perm")
            .map { value throws(KeychainError) in
                guard let flag = value as? Bool else { throw .wrongType("perm") }
                return flag
            } ?? isToken
        for name in ["type", "bsiz", "kcls", "tkid"] { attributes[name] = nil }
        attributes["class"] = ItemClass.key.rawValue
        guard isPermanent || isToken else {
            query = nil
            return
        }
        query = try ParsedQuery(attributes.map { ($0.key as Any, $0.value) }, for: .add, hasResult: true)
    }
}
