internal import Foundation

/// The place of a store's items: generic passwords whose service is the store and whose account is the key.
///
/// The item with an empty account is the store's marker: its attribute `generic` is the rule, and it exists from the first
/// write until `deleteAll`. An item's `generic` is its version, a random number that changes at each write, so that a change
/// can be made conditional on the version that was read. Its `comment` is the rule, so that a look-up under another rule does
/// not match it and shows no prompt.
struct StorePlace: Sendable, Hashable {
    /// The prefix of every store's service.
    static let prefix = "touchstone.store:"

    /// `kSecAttrService` of the items.
    let service: String
    private let group: String?

    init(_ store: SecretStore) {
        service = Self.prefix(of: store.group) + store.name
        group = store.group
    }

    /// The prefix of the services of a group's stores.
    static func prefix(of group: String?) -> String {
        let group = group ?? ""
        // The length distinguishes `a:b` without a group from `b` in the group `a`.
        return prefix + "\(group.utf8.count):\(group):"
    }

    /// The marker's account, which is not a valid key.
    static let marker = ""

    /// A query for one item, or for all items of the store.
    func query(
        _ account: String?,
        version: [UInt8]? = nil,
        rule: AccessRule? = nil
    ) -> PasswordQuery {
        PasswordQuery(
            service: service,
            account: account,
            group: group,
            generic: version,
            comment: rule?.description
        )
    }

    /// A new random version number.
    static func newVersion() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

// MARK: Calls

extension KeychainLink {
    /// Adds or replaces a secret.
    func write(_ bytes: Data, for key: String, _ access: StoreAccess) async throws(TouchstoneError) {
        try await inContext(access) { context throws(TouchstoneError) in
            let isReplaced = try await onStore(access, context) { calls throws(TouchstoneError) in
                try calls.checkRule(makes: true)
                // A round fails only if another program deleted the value in between.
                for _ in 0..<1000 {
                    if try calls.add(bytes, key) { return false }
                    let replaced: Void? = try ifPresent { () throws(TouchstoneError) in
                        try calls.replace(bytes, key, version: nil)
                    }
                    if replaced != nil { return true }
                }
                throw TouchstoneError(.throttled, details: ["write: another program deletes it all the time"])
            }
            return ((), hasShown: isReplaced)
        }
    }

    /// Reads a secret.
    func read(_ key: String, _ access: StoreAccess) async throws(TouchstoneError) -> FoundSecret {
        try await inContext(access) { context throws(TouchstoneError) in
            (try await look(key, access, context), hasShown: true)
        }
    }

    /// Runs the requests of one call with one context.
    func inContext<R>(
        _ access: StoreAccess,
        _ body: (StoreContext) async throws(TouchstoneError) -> (R, hasShown: Bool)
    ) async throws(TouchstoneError) -> R {
        try await recording(access.item) { () throws(TouchstoneError) in
            let context = StoreContext(self, access)
            do throws(TouchstoneError) {
                let (result, hasShown) = try await body(context)
                context.end(hasShown: hasShown)
                return result
            } catch {
                context.end(hasShown: false)
                throw error
            }
        }
    }

    /// Reads a secret that may be absent.
    func find(
        _ key: String,
        _ access: StoreAccess,
        _ context: StoreContext
    ) async throws(TouchstoneError) -> FoundSecret? {
        do throws(TouchstoneError) {
            return try await look(key, access, context)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// Looks up a secret.
    private func look(
        _ key: String,
        _ access: StoreAccess,
        _ context: StoreContext
    ) async throws(TouchstoneError) -> FoundSecret {
        try checkIsOwn(access)
        return try await onStore(access, context) { calls throws(TouchstoneError) in try calls.read(key) }
    }

    /// Replaces, adds or deletes a secret, if its version is still the one that was read.
    ///
    /// - Returns: false if it is not; nothing was changed.
    func exchange(
        _ version: [UInt8]?,
        with bytes: Data?,
        for key: String,
        _ access: StoreAccess,
        _ context: StoreContext
    ) async throws(TouchstoneError) -> Bool {
        guard version != nil || bytes != nil else { return true }
        return try await onStore(access, context) { calls throws(TouchstoneError) in
            do throws(TouchstoneError) {
                switch (version, bytes) {
                case (let version?, let bytes?): try calls.replace(bytes, key, version: version)
                case (let version?, nil): return try calls.delete(key, version: version)
                case (nil, let bytes?):
                    try calls.checkRule(makes: true)
                    return try calls.add(bytes, key)
                case (nil, nil): break
                }
                return true
            } catch {
                guard error.code == .notFound else { throw error }
                return false
            }
        }
    }

    /// The status of each key.
    func status(_ access: StoreAccess) async throws(TouchstoneError) -> [String: SecretStore.Status] {
        try await onStore(access, StoreContext(self, access)) { calls throws(TouchstoneError) in
            try calls.checkRule(makes: false)
            return try calls.status()
        }
    }

    /// The keys of all secrets that are not invalidated, in order.
    func keys(_ access: StoreAccess, _ context: StoreContext) async throws(TouchstoneError) -> [String] {
        try await onStore(access, context) { calls throws(TouchstoneError) in
            try calls.checkRule(makes: false)
            return try calls.status().compactMap { key, status in
                if case .invalidated = status { nil } else { key }
            }.sorted()
        }
    }

    /// The names of the stores of a group that have a marker, in order.
    func storeNames(in group: String?) async throws(TouchstoneError) -> [String] {
        let prefix = StorePlace.prefix(of: group)
        return try await call(nil) { calls throws(TouchstoneError) in
            // Bytes: a name may begin with a combining character.
            try calls.services(withAccount: StorePlace.marker, group: group)
                .filter { $0.utf8.starts(with: prefix.utf8) }
                .map { String(decoding: $0.utf8.dropFirst(prefix.utf8.count), as: UTF8.self) }.sorted()
        }
    }

    /// Deletes one secret.
    func delete(_ key: String, _ access: StoreAccess) async throws(TouchstoneError) -> Deletion {
        try await recording(access.item) { () throws(TouchstoneError) in
            try await onStore(access, StoreContext(self, access)) { calls throws(TouchstoneError) in
                try calls.delete(key, version: nil) ? .deleted : .wasAbsent
            }
        }
    }

    /// Deletes all items of the store, its marker included.
    func deleteAll(_ access: StoreAccess) async throws(TouchstoneError) {
        try await recording(access.item) { () throws(TouchstoneError) in
            try await onStore(access, StoreContext(self, access)) { calls throws(TouchstoneError) in
                _ = try calls.delete(nil, version: nil)
            }
        }
    }

    func onStore<R: Sendable>(
        _ access: StoreAccess,
        _ context: StoreContext,
        _ body: @escaping @Sendable (StoreCalls) throws(TouchstoneError) -> R
    ) async throws(TouchstoneError) -> R {
        try checkIsOwn(access)
        let prompt = access.permission.prompt
        return try await call(prompt, in: context.session, timeout: prompt?.timeout) {
            calls throws(TouchstoneError) in
            try body(StoreCalls(calls: calls, access: access))
        }
    }

    /// - Throws: ``TouchstoneError`` with `proofEnded`.
    private func checkIsOwn(_ access: StoreAccess) throws(TouchstoneError) {
        if case .proof(let proof) = access.permission.kind, proof.session.link.identity != identity {
            throw TouchstoneError(.proofEnded, details: ["a proof of another keychain"])
        }
    }
}
