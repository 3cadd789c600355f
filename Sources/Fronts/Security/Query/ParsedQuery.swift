package import Foundation
package import KeychainModel

/// The functions that take a query.
package enum QueryOperation: Sendable {
    /// `SecItemAdd`.
    case add
    /// `SecItemCopyMatching`.
    case copyMatching
    /// The first dictionary of `SecItemUpdate`.
    case update
    /// `SecItemDelete`.
    case delete
}

/// A parsed query dictionary, validated by Apple's rules, which the tests in `Conformance/Tests` state.
///
/// For any dictionary, parsing returns a query or throws a status; it never traps. For several faults in one
/// dictionary the status does not depend on the order of its keys.
package struct ParsedQuery {
    /// The class; nil only with ``references``.
    package private(set) var itemClass: ItemClass?
    /// The attributes to compare or to store.
    package private(set) var attributes = ParsedAttributes()
    /// `kSecValueData`; ignored in a search, because apps reuse the dictionary of `SecItemAdd`.
    package private(set) var data: Data?
    /// `kSecMatchLimit`.
    package private(set) var limit = ItemQuery.Limit.one
    /// The `kSecReturn…` keys that are true.
    package private(set) var returns: ItemQuery.Returns = []
    /// `kSecValuePersistentRef` or `kSecMatchItemList`; nil if neither was given.
    package private(set) var references: [PersistentReference]?
    /// The matches that are made here, not by the daemon.
    private(set) var looseMatch = LooseMatch()
    /// `kSecValueRef`.
    package private(set) var key: SecKey?
    /// `kSecUseAuthenticationUI`.
    package private(set) var authenticationUI = ItemQuery.AuthenticationUI.allow
    /// `kSecUseOperationPrompt` and `kSecUseAuthenticationContext`.
    package private(set) var wishes = PromptWishes()

    private let operation: QueryOperation
    private var namesOneItem = false
    /// Whether a deletion has `kSecMatchLimitAll`, which is its behaviour anyway.
    private var hasDeletionLimit = false
    /// `kSecUseDataProtectionKeychain`.
    private var usesDataProtection = false

    /// Parses a dictionary.
    ///
    /// - Throws: `errSecNoSuchClass`, `errSecNoSuchAttr`, `errSecUnimplemented` for features of Apple's
    ///   systems that are not supported here, `errSecDataTooLarge`, and `errSecParam` for all other faults.
    package init(_ dictionary: NSDictionary, for operation: QueryOperation, hasResult: Bool)
        throws(KeychainError)
    {
        try self.init(dictionary.pairs, for: operation, hasResult: hasResult)
    }

    /// Parses keys and values, as ``init(_:for:hasResult:)-(NSDictionary,_,_)`` does.
    package init(
        _ pairs: some Sequence<(Any, Any)>,
        for operation: QueryOperation,
        hasResult: Bool
    ) throws(KeychainError) {
        self.operation = operation
        var rest: [(String, Any)] = []
        var hasForeignKey = false
        for (key, value) in pairs {
            guard let name = text(key) else {
                hasForeignKey = true
                continue
            }
            if name == "class" {
                itemClass = try Self.itemClass(value, for: operation)
            } else {
                rest.append((name, value))
            }
        }
        var worst: KeychainError? = hasForeignKey ? .param("a key that is not text") : nil
        // A reference implies its class, wherever it is in the dictionary.
        if itemClass == nil, let value = rest.first(where: { $0.0 == "v_Ref" })?.1 {
            if value is SecKey { itemClass = .key }
            if value is SecCertificate { itemClass = try Self.itemClass("cert", for: operation) }
        }
        for (name, value) in rest {
            do throws(KeychainError) {
                try accept(name, value)
            } catch {
                if worst.map({ $0.rank < error.rank }) ?? true { worst = error }
            }
        }
        if let worst { throw worst }
        try judge(hasResult: hasResult)
    }

    private static func itemClass(
        _ value: Any,
        for operation: QueryOperation
    ) throws(KeychainError) -> ItemClass {
        guard let name = text(value) else { throw .wrongType("class") }
        guard let itemClass = ItemClass(rawValue: name) else { throw KeychainError(.noSuchClass) }
        if operation == .add, !itemClass.isStored { throw .unimplemented("class \(name)") }
        return itemClass
    }

    private mutating func accept(_ name: String, _ value: Any) throws(KeychainError) {
        switch name {
        case "r_Data": try accept(return: .data, name, value)
        case "r_Attributes": try accept(return: .attributes, name, value)
        case "r_Ref": try accept(return: .ref, name, value)
        case "r_PersistentRef": try accept(return: .persistentRef, name, value)
        case "v_Data": try accept(data: value)
        case "v_PersistentRef": try accept(reference: value)
        case "v_Ref" where value is SecCertificate && itemClass == .certificate: break
        case "v_Ref":
            guard let key = value as? SecKey, itemClass == .key else { throw .param("an item reference") }
            self.key = key
        case _ where name.hasPrefix("m_"): try accept(match: name, value)
        case _ where name.hasPrefix("u_") || name == "nleg": try accept(use: name, value)
        default:
            guard let itemClass else { throw .param("attributes without a class") }
            try attributes.accept(name, value, of: itemClass)
        }
    }

    private mutating func accept(
        return bit: ItemQuery.Returns,
        _ name: String,
        _ value: Any
    ) throws(KeychainError) {
        guard let flag = value as? Bool else { throw .wrongType(name) }
        if flag { returns.insert(bit) }
    }

    private mutating func accept(data value: Any) throws(KeychainError) {
        guard let octets = value as? Data else { throw .wrongType("v_Data") }
        guard octets.count <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        data = octets
    }

    private mutating func accept(reference value: Any) throws(KeychainError) {
        guard operation != .add else { throw .param("a persistent reference of an item to add") }
        references = [try PersistentReference(value: value)]
        namesOneItem = true
    }

    private mutating func accept(match name: String, _ value: Any) throws(KeychainError) {
        switch operation {
        case .delete where name == "m_Limit" && text(value) == "m_LimitAll": hasDeletionLimit = true
        case .update, .delete: throw .param("match keys select nothing to change")
        case .add:
            // Apple's server reads the limit of an item to add and ignores it.
            guard name == "m_Limit" else { throw .param("match keys of an item to add") }
            _ = try ItemQuery.Limit(value: value)
        case .copyMatching:
            switch name {
            case "m_Limit": limit = try ItemQuery.Limit(value: value)
            case "m_ItemList":
                guard let list = value as? [Any] else { throw .wrongType(name) }
                guard list.count <= ItemLimits.mostReferences else { throw .param("too many references") }
                var references: [PersistentReference] = []
                for element in list { references.append(try PersistentReference(value: element)) }
                self.references = references
            case "m_CaseInsensitive":
                guard let flag = value as? Bool else { throw .wrongType(name) }
                looseMatch.isCaseInsensitive = flag
            case "m_HostOrSubdomainOfHost":
                guard itemClass == .internetPassword else { throw .unimplemented(name) }
                guard let host = value as? String, !host.isEmpty else { throw .wrongType(name) }
                looseMatch.host = host
            case "m_Policy", "m_SearchList", "m_Issuers", "m_EmailAddressIfPresent", "m_SubjectContains",
                "m_TrustedOnly", "m_ValidOnDate":
                // Among certificates and identities, of which there are none, they select nothing.
                guard let itemClass, !itemClass.isStored else { throw .unimplemented(name) }
            default: throw .param("unknown key")
            }
        }
    }

    private mutating func accept(use name: String, _ value: Any) throws(KeychainError) {
        switch name {
        case "u_AuthCtx":
            guard let context = value as? any AuthenticationContextProviding else { throw .wrongType(name) }
            wishes.context = context
        case "u_OpPrompt":
            guard let text = value as? String else { throw .wrongType(name) }
            wishes.reason = PromptFields.fitting(text)
        case "u_AuthUI":
            switch value as? String {
            case "u_AuthUIA": authenticationUI = .allow
            case "u_AuthUIF": authenticationUI = .fail
            case "u_AuthUIS":
                guard operation == .copyMatching else { throw .param("skipping outside a search") }
                authenticationUI = .skip
            default: throw .wrongType(name)
            }
        case "u_NoAuthUI":
            guard let flag = value as? Bool else { throw .wrongType(name) }
            if flag { authenticationUI = .fail }
        case "nleg":
            guard let flag = value as? Bool else { throw .wrongType(name) }
            usesDataProtection = flag
        case "u_ItemList", "u_UserIndependentKeychain": throw .unimplemented(name)
        default: throw .param("unknown key")
        }
    }

    private mutating func judge(hasResult: Bool) throws(KeychainError) {
        guard itemClass != nil || references != nil else { throw .param("no class") }
        if namesOneItem, !attributes.isEmpty { throw .param("a persistent reference beside attributes") }
        try attributes.judge()
        if let key { try judge(key) }
        wishes.interactionAllowed = authenticationUI != .fail
        switch operation {
        case .add: try attributes.judgeForStorage()
        case .update where !returns.isEmpty: throw .param("an update returns nothing")
        // Code for macOS's file-based keychain must set this limit (KeychainAccess, `removeAll`); for the data
        // protection keychain it is an error.
        case .delete where hasDeletionLimit && usesDataProtection: throw .param("a limit of a deletion")
        case .update, .copyMatching, .delete: break
        }
        guard operation == .add || operation == .copyMatching else { return }
        if !returns.isEmpty, !hasResult { throw .param("nowhere to put the result") }
        // Passwords have no references: asked for nothing else, a call succeeds without a result, as on Apple's systems.
        if itemClass == .genericPassword || itemClass == .internetPassword { returns.remove(.ref) }
    }

    /// Checks a key against the other attributes, and takes over the key's own.
    private mutating func judge(_ key: SecKey) throws(KeychainError) {
        guard references == nil else { throw .param("a key beside a reference") }
        let own = key.material.attributes
        for name in [AttributeKey.keyClass, .type, .keySizeInBits] {
            guard attributes.values[name].map({ $0 == own[name] }) ?? true else {
                throw .param("a key beside other attributes")
            }
        }
        guard operation == .add else {
            for name in [AttributeKey.keyClass, .applicationLabel] where attributes.values[name] == nil {
                attributes.values[name] = own[name]
            }
            return
        }
        guard data == nil else { throw .param("a key beside data") }
    }

    /// The same query for another key, which returns only its persistent reference.
    func adding(_ key: SecKey) throws(KeychainError) -> ParsedQuery {
        var query = self
        query.key = key
        query.returns = .persistentRef
        try query.judge(key)
        return query
    }
}

extension ItemClass {
    /// Whether the keychain stores items of this class; of the others it has none.
    var isStored: Bool { self != .certificate && self != .identity }
}

extension KeychainError {
    /// `errSecUnimplemented`, with the name of the feature.
    static func unimplemented(_ feature: String) -> KeychainError {
        KeychainError(.unimplemented, cause: DriverCause(domain: "query", code: feature))
    }

    /// The precedence of faults: of several faults in one dictionary, the highest rank is thrown.
    fileprivate var rank: Int {
        switch status {
        case .param: 3
        case .noSuchAttr: 2
        case .unimplemented: 1
        default: 0
        }
    }
}

extension PersistentReference {
    fileprivate init(value: Any) throws(KeychainError) {
        if let item = (value as? SecKey)?.item {
            self = item
            return
        }
        guard let octets = value as? Data, octets.count == Self.octetCount,
            let reference = Self(octets: [UInt8](octets))
        else { throw .param("not a persistent reference") }
        self = reference
    }
}

extension ItemQuery.Limit {
    fileprivate init(value: Any) throws(KeychainError) {
        switch (text(value), value) {
        case ("m_LimitOne", _): self = .one
        case ("m_LimitAll", _): self = .all
        case (_, let number as Int) where number >= 1: self = number == 1 ? .one : .count(number)
        default: throw .param("limit")
        }
    }
}
