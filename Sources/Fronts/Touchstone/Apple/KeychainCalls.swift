internal import Foundation
internal import LocalAuthentication
internal import Security

/// Calls of the keychain about generic passwords; they block, so they run on a waiting thread.
///
/// A call asks nobody at first. Where that is not enough and a prompt may be shown, the user is asked by an evaluation, which
/// can be cancelled, and the call is made again on what was shown: no call of the keychain's itself waits for a person who
/// is asked for an item.
struct KeychainCalls: Sendable {
    /// Where the user shows what items demand.
    let session: PromptSession
    /// nil where none may be shown.
    let prompt: PromptText?

    /// Adds a password.
    ///
    /// - Returns: false for a name that is taken.
    func add(_ password: NewPassword) throws(TouchstoneError) -> Bool {
        guard let rule = password.rule, rule.asks else { return try addAlone(password) }
        // What is invalidated is simply gone here: the mark tells that it was there.
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
            attributes[kSecAttrAccessible] =
                password.rule?.need == .whenUnlocked
                ? kSecAttrAccessibleWhenUnlockedThisDeviceOnly
                : kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
        }
        let status = try perform(under: nil) { SecItemAdd(query(attributes), nil) }
        if status == errSecDuplicateItem { return false }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return true
    }

    /// The attribute `generic` of one; nil where there is none.
    func generic(of item: PasswordQuery) throws(TouchstoneError) -> [UInt8]? {
        var result: CFTypeRef?
        let status = try perform(under: nil) {
            SecItemCopyMatching(query(item.values, [kSecReturnAttributes: true]), &result)
        }
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
        return ((result as? NSDictionary)?[kSecAttrGeneric as String] as? Data).map { Array($0) }
    }

    /// A password with its bytes, after what the keychain demands for it.
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

    /// Which there are, invalidated ones too; asks nobody.
    func list(_ item: PasswordQuery) throws(TouchstoneError) -> [ListedPassword] {
        let present = try accounts(item)
        let lost = try Mark.lost(item, beside: present, self)
        return present.map { ListedPassword(account: $0, standing: .present) } + lost
    }

    /// The accounts of those that are there; asks nobody.
    func accounts(_ item: PasswordQuery) throws(TouchstoneError) -> Set<String> {
        Set(try attributes(item).compactMap { $0[kSecAttrAccount as String] as? String })
    }

    /// The attributes of all that a query finds; asks nobody.
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

    /// Replaces the bytes of one and its attribute `generic`.
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

    /// Gives one the attributes of another query.
    ///
    /// - Throws: ``TouchstoneError`` with `notFound`.
    func rename(_ item: PasswordQuery, to other: PasswordQuery) throws(TouchstoneError) {
        let status = try perform(under: nil) {
            SecItemUpdate(query(item.values), other.changes as CFDictionary)
        }
        guard status == errSecSuccess else { throw TouchstoneError(status: status) }
    }

    /// Deletes what a query finds, invalidated ones too; asks nobody.
    ///
    /// - Returns: whether there was anything.
    func delete(_ item: PasswordQuery) throws(TouchstoneError) -> Bool {
        guard item.service.hasPrefix(StorePlace.prefix) else { return try deleteAlone(item) }
        // A mark that waits says nothing, so that no end of the process in between makes a deleted one a lost one.
        let marks = Mark(item)
        let wasMarked = try marks.hasStored(self)
        if wasMarked { try marks.set(.pending, self) }
        let wasThere = try deleteAlone(item)
        if !wasThere, item.generic != nil {
            // Another version than this one.
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

    /// Deletes all whose service begins with one of these.
    func deleteAll(servicesWith prefixes: [String]) throws(TouchstoneError) {
        // Marks first: a secret without one is there, and a mark without a secret would be of a lost one.
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

    /// The system knows no weak sensors.
    func checkSensor(_ rule: AccessRule, shown: PromptSession? = nil) throws(TouchstoneError) {}

    // MARK: Asking

    /// Makes a call; where it wants the user, asks for what the rule demands and makes it again.
    ///
    /// - Parameters:
    ///   - rule: Of the item; nil for one that asks nobody.
    ///   - body: The call, in the session's context.
    /// - Returns: its status.
    /// - Throws: ``TouchstoneError`` of the prompt.
    func perform(under rule: AccessRule?, _ body: () -> OSStatus) throws(TouchstoneError) -> OSStatus {
        let status = body()
        guard status == errSecInteractionNotAllowed, let prompt else { return status }
        // The keychain is locked. Apple's systems open it by no prompt of an app's; others may.
        guard let rule, rule.asks else { return session.prompting(prompt, body) }
        try ask(for: try rule.control(), .useItem, prompt)
        return body()
    }

    /// Has the user show what an access control demands.
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
        if let error = failure.withLock(\.self) { throw error }
    }

    /// A dictionary for a call in the session's context.
    private func query(_ values: [CFString: Any], _ more: [CFString: Any] = [:]) -> CFDictionary {
        let more = more.merging([kSecUseAuthenticationContext: session.context]) { old, _ in old }
        return values.merging(more) { old, _ in old } as CFDictionary
    }
}

extension PasswordQuery {
    /// Class and attributes, as far as they are given.
    fileprivate var values: [CFString: Any] {
        var values: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service,
            // The keychain of iOS, on a Mac too.
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
