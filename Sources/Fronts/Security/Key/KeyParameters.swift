import Foundation
import KeychainModel

/// What the dictionary of a function that makes keys says, its inner ones laid over it.
struct KeyParameters {
    /// `kSecAttrKeyType`.
    let type: KeyType
    /// `kSecAttrKeySizeInBits`.
    let sizeInBits: Int?
    /// `kSecAttrKeyClass`, whether it says private.
    let isPrivate: Bool?
    /// `kSecAttrTokenID`; only the keychain's hardware is known.
    let tokenID: String?
    /// What the private key's item is made with.
    let privateKey: KeyItemParameters
    /// What the public key's item is made with.
    let publicKey: KeyItemParameters

    /// Reads a dictionary.
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
        // Apple's own code looks for these in the outer dictionary; people write them into the private one too.
        func find(_ name: String) -> Any? { outer[name] ?? privateAttributes[name] }
        guard let typeValue = find("type") else { throw .param("no kSecAttrKeyType") }
        guard let type = KeyType(rawValue: Self.code(typeValue) ?? "") else { throw .wrongType("type") }
        self.type = type
        sizeInBits = try find("bsiz").map { value throws(KeychainError) in
            guard let size = Self.code(value).flatMap(Int.init) else { throw .wrongType("bsiz") }
            return size
        }
        isPrivate = try outer["kcls"].map { value throws(KeychainError) in
            switch Self.code(value) {
            case "0": return false
            case "1": return true
            default: throw .wrongType("kcls")
            }
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

    /// A number, or the text of one, as text.
    private static func code(_ value: Any) -> String? {
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

/// What one half of a new key is kept with.
struct KeyItemParameters {
    /// Whether it goes into the keychain.
    let isPermanent: Bool
    /// The query that adds it, without the key; nil for a key that stays in this process.
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
