internal import Foundation
internal import LocalAuthentication
internal import Security

/// Calls of the keychain about generic passwords; they block, so they run on a waiting thread.
///
/// Each call is first made without a prompt. If it needs the user and a prompt may be shown, an evaluation asks the user, and
/// the call is repeated in the evaluated context. An evaluation can be cancelled; a keychain call that waits for the user
/// cannot.
struct KeychainCalls: Sendable {
    /// The context in which the user authenticates.
    let session: PromptSession
    /// The text of a prompt; nil if none may be shown.
    let prompt: PromptText?

    /// Adds a password.
    ///
    /// - Returns: false if an item of that name exists.
    func add(_ password: NewPassword) throws(TouchstoneError) -> Bool {
        guard let rule = password.rule, rule.asks else { return try addAlone(password) }
        // The system deletes an invalidated item without a trace; the mark records that it existed.
        let mark = Mark(password.attributes)
        try mark.set(.pending, self)
        let isNew = try addAlone(password)
        try mark.set(.stored, self)
        return isNew
    }

    /// Adds a password without a mark.
    func addAlone(_ password: NewPassword) throws(TouchstoneError) -> Bool {
        var attributes = password.attributes.values
        attributes[kSecAttrAccount] = password.attributes.account ?? ""
        if let bytes = password.bytes { attributes[kSecValueData] = bytes }
        if let rule = password.rule, rule.asks {
            attributes[kSecAttrAccessControl] = try rule.control()
        } else {
            attributes[kSecAttrAccessible] = (password.rule ?? .afterFirstUnlock).protection
        }
        let status = try perform(under: nil) { SecItemAdd(query(attributes), nil) }
        if status == errSecDuplicateItem { return false }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return true
    }

    /// The attribute `generic` of an item; nil if the item does not exist.
    func generic(of item: PasswordQuery) throws(TouchstoneError) -> [UInt8]? {
        var result: CFTypeRef?
        let status = try perform(under: nil) {
            SecItemCopyMatching(query(item.values, [kSecReturnAttributes: true]), &result)
        }
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return ((result as? NSDictionary)?[kSecAttrGeneric as String] as? Data).map { Array($0) }
    }

    /// Reads a password with its bytes, after the authentication that its rule requires.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func copy(_ item: PasswordQuery, under rule: AccessRule?) throws(TouchstoneError) -> FoundSecret {
        var result: CFTypeRef?
        let status = try perform(under: rule) {
            SecItemCopyMatching(
                query(item.values, [kSecReturnAttributes: true, kSecReturnData: true]),
                &result
            )
        }
        if status == errSecItemNotFound, rule?.asks == true, try Mark(item).isOfLost(self) {
            throw .invalidatedItem
        }
        guard status == errSecSuccess else {
            throw TouchstoneError(status: status, asks: rule?.asks == true)
        }
        let found = result as? NSDictionary
        return FoundSecret(
            found?[kSecValueData as String] as? Data,
            version: (found?[kSecAttrGeneric as String] as? Data).map { Array($0) } ?? []
        )
    }

    /// Lists the passwords, invalidated ones included; shows no prompt.
    func list(_ item: PasswordQuery) throws(TouchstoneError) -> [ListedPassword] {
        let present = try attributes(item).compactMap { found in
            (found[kSecAttrAccount as String] as? String).map { account in
                ListedPassword(
                    account: account,
                    standing: .present,
                    version: (found[kSecAttrGeneric as String] as? Data).map { Array($0) } ?? [],
                    rule: found[kSecAttrComment as String] as? String
                )
            }
        }
        return present + (try Mark.lost(item, beside: Set(present.map(\.account)), self))
    }

    /// The services of all passwords that have an account; shows no prompt.
    func services(withAccount account: String, group: String?) throws(TouchstoneError) -> [String] {
        var values: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrAccount: account,
            kSecUseDataProtectionKeychain: true,
        ]
        values[kSecAttrAccessGroup] = group
        return try attributes(values).compactMap { $0[kSecAttrService as String] as? String }
    }

    /// The accounts of the passwords that exist; shows no prompt.
    func accounts(_ item: PasswordQuery) throws(TouchstoneError) -> Set<String> {
        Set(try attributes(item).compactMap { $0[kSecAttrAccount as String] as? String })
    }

    /// The attributes of all items that match a query; shows no prompt.
    func attributes(_ item: PasswordQuery) throws(TouchstoneError) -> [NSDictionary] {
        try attributes(item.values)
    }

    private func attributes(_ values: [CFString: Any]) throws(TouchstoneError) -> [NSDictionary] {
        var result: CFTypeRef?
        let wanted: [CFString: Any] = [kSecReturnAttributes: true, kSecMatchLimit: kSecMatchLimitAll]
        let status = try perform(under: nil) { SecItemCopyMatching(query(values, wanted), &result) }
        if status == errSecItemNotFound { return [] }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return result as? [NSDictionary] ?? []
    }

    /// Replaces the bytes and the attribute `generic` of a password.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func replace(
        _ bytes: Data,
        of item: PasswordQuery,
        under rule: AccessRule,
        generic: [UInt8]
    ) throws(TouchstoneError) {
        let changes: [CFString: Any] = [kSecValueData: bytes, kSecAttrGeneric: Data(generic)]
        let status = try perform(under: rule) { SecItemUpdate(query(item.values), changes as CFDictionary) }
        if status == errSecItemNotFound, rule.asks, try Mark(item).isOfLost(self) { throw .invalidatedItem }
        guard status == errSecSuccess else { throw TouchstoneError(status: status, asks: rule.asks) }
    }

    /// Changes passwords to other attributes and another rule, and to other bytes if there are some, after the authentication that
    /// their present rule requires; without an account all that match, one after the other.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`, or `alreadyExists` for a name that is taken.
    func move(
        _ item: PasswordQuery,
        under rule: AccessRule,
        to password: NewPassword
    ) throws(TouchstoneError) {
        guard item.account != nil else {
            for account in try accounts(item).sorted() {
                var one = item
                one.account = account
                try move(one, under: rule, to: password)
            }
            return
        }
        var new = password.attributes
        new.account = item.account
        // As in ``delete(_:)``: what is interrupted in between does not count as lost.
        let old = Mark(item)
        let wasMarked = rule.asks ? try old.hasStored(self) : false
        if wasMarked { try old.set(.pending, self) }
        var changes = new.changes
        changes[kSecAttrAccessControl] = try (password.rule ?? .afterFirstUnlock).control()
        if let bytes = password.bytes { changes[kSecValueData] = bytes }
        let status = try perform(under: rule) { SecItemUpdate(query(item.values), changes as CFDictionary) }
        guard status == errSecSuccess else {
            if wasMarked { try old.set(.stored, self) }
            throw TouchstoneError(status: status, asks: rule.asks)
        }
        // The new mark may have the same name.
        if wasMarked { _ = try deleteAlone(old.query) }
        if password.rule?.asks == true { try Mark(new).set(.stored, self) }
    }

    /// Changes the attributes of a password to those of another query.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func rename(_ item: PasswordQuery, to other: PasswordQuery) throws(TouchstoneError) {
        let status = try perform(under: nil) {
            SecItemUpdate(query(item.values), other.changes as CFDictionary)
        }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
    }

    /// Deletes the matching passwords, invalidated ones included; shows no prompt.
    ///
    /// - Returns: whether there was one.
    func delete(_ item: PasswordQuery) throws(TouchstoneError) -> Bool {
        guard item.service.hasPrefix(StorePlace.prefix) else { return try deleteAlone(item) }
        // Set the mark to pending first: if the process exits in between, the deleted item does not count as lost.
        let marks = Mark(item)
        let wasMarked = try marks.hasStored(self)
        if wasMarked { try marks.set(.pending, self) }
        let wasThere = try deleteAlone(item)
        if !wasThere, item.generic != nil {
            // The stored item has another version, so it stays.
            if wasMarked { try marks.set(.stored, self) }
            return false
        }
        _ = try deleteAlone(marks.query)
        return wasThere || wasMarked
    }

    /// Deletes without marks.
    func deleteAlone(_ item: PasswordQuery) throws(TouchstoneError) -> Bool {
        let status = try perform(under: nil) { SecItemDelete(query(item.values)) }
        if status == errSecItemNotFound { return false }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return true
    }

    /// Deletes all passwords whose service begins with one of the prefixes.
    func deleteAll(servicesWith prefixes: [String]) throws(TouchstoneError) {
        // Marks first: a secret without a mark still counts as present, but a mark without a secret would
        // report a lost one.
        let all = try attributes([
            kSecClass: kSecClassGenericPassword, kSecUseDataProtectionKeychain: true,
        ])
        for prefix in [Mark.prefix, LockProbe.service] + prefixes {
            let services = Set(all.compactMap { $0[kSecAttrService as String] as? String })
            for service in services where service.hasPrefix(prefix) {
                _ = try deleteAlone(PasswordQuery(service: service))
            }
        }
    }

    /// What protects the keychain.
    func level() throws(TouchstoneError) -> HardwareLevel { .ofThisDevice }

    /// Does nothing: Apple's systems have no sensors graded weak.
    func checkSensor(_ rule: AccessRule, shown: PromptSession? = nil) throws(TouchstoneError) {}

    // MARK: Asking

    /// Makes a call; if the call needs the user, asks for what the rule requires and repeats it.
    ///
    /// - Parameters:
    ///   - rule: The item's rule; nil for an item that needs no prompt.
    ///   - body: The call, in the session's context.
    /// - Returns: the status of the last call.
    /// - Throws: ``TouchstoneError`` of the prompt.
    func perform(under rule: AccessRule?, _ body: () -> OSStatus) throws(TouchstoneError) -> OSStatus {
        let status = body()
        guard status == errSecInteractionNotAllowed, let prompt else { return status }
        // The keychain is locked. On Apple's systems no prompt of an app can unlock it; on others the call
        // itself may ask.
        guard let rule, rule.asks else { return session.prompting(prompt, body) }
        try ask(for: try rule.control(), .useItem, prompt)
        return body()
    }

    /// Asks the user for what an access control requires.
    func ask(
        for control: SecAccessControl,
        _ operation: LAAccessControlOperation,
        _ prompt: PromptText
    ) throws(TouchstoneError) {
        try evaluate(prompt) { reply in
            session.context.evaluateAccessControl(
                control,
                operation: operation,
                localizedReason: prompt.line,
                reply: reply
            )
        }
    }

    /// Waits for the reply of an evaluation.
    func evaluate(
        _ prompt: PromptText,
        _ start: (@escaping @Sendable (Bool, (any Error)?) -> Void) -> Void
    ) throws(TouchstoneError) {
        let end = DispatchSemaphore(value: 0)
        let failure = Guarded<TouchstoneError?>(nil)
        session.prompting(prompt) {
            start { isShown, error in
                if !isShown {
                    failure.withLock {
                        $0 = error.map { TouchstoneError(system: $0) } ?? TouchstoneError(.notMatched)
                    }
                }
                end.signal()
            }
            end.wait()
        }
        guard let error = failure.withLock(\.self) else { return }
        // The system shows the first fallback only.
        let isNamed = error.code == .fallbackChosen && prompt.fallbacks?.isEmpty == false
        throw isNamed ? error.choosing(0) : error
    }

    /// The dictionary for a call in the session's context.
    private func query(_ values: [CFString: Any], _ more: [CFString: Any] = [:]) -> CFDictionary {
        let more = more.merging([kSecUseAuthenticationContext: session.context]) { old, _ in old }
        return values.merging(more) { old, _ in old } as CFDictionary
    }
}

extension PasswordQuery {
    /// The item class and the attributes that are not nil.
    fileprivate var values: [CFString: Any] {
        var values: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
            // Use the data protection keychain on macOS too.
            kSecUseDataProtectionKeychain: true,
        ]
        values[kSecAttrAccount] = account
        values[kSecAttrAccessGroup] = group
        values[kSecAttrGeneric] = generic.map { Data($0) }
        values[kSecAttrComment] = comment
        return values
    }

    /// Attributes to store.
    fileprivate var changes: [CFString: Any] {
        var changes = values
        changes[kSecClass] = nil
        changes[kSecUseDataProtectionKeychain] = nil
        return changes
    }
}
