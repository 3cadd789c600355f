internal import Foundation

extension SecretStore {
    /// Moves all values of a store here, with one prompt under the rule that they have: changes a store's rule, its name, or both.
    ///
    /// ```swift
    /// let tokens = SecretStore("com.example.tokens", rule: .biometry)
    /// try await tokens.migrate(from: SecretStore("com.example.tokens", rule: .whenUnlocked))
    /// ```
    ///
    /// Values that keep the store's name change together, on Apple's systems one after the other; under another name each value moves
    /// in one step. So an interruption leaves each value under one rule and in one store, and another call moves the rest; until then a
    /// value under the other rule throws `ruleMismatch`. Nothing to move is no error and shows no prompt, so an app can call this at each
    /// start. A cancelled prompt changes nothing.
    ///
    /// - Parameters:
    ///   - old: The store as it was used so far. A value that was invalidated, or whose key this store has too, stays in it.
    ///   - permission: Authorises the use of the values under their former rule.
    /// - Throws: ``TouchstoneError`` as ``read(_:as:with:)``, except `notFound`; `ruleMismatch` if one of the stores has another rule,
    ///   `unsupported` for a store of another keychain, and for one of a group whose values would leave the group.
    public func migrate(
        from old: SecretStore,
        with permission: Permission = .standard
    ) async throws(TouchstoneError) {
        let (migration, link) = (try StoreMigration(of: old, to: self, permission), keychain.link)
        try await link.run(migration) { keys, context throws(TouchstoneError) in
            try await link.onStore(migration.old, context) { calls throws(TouchstoneError) in
                try migration.move(keys, calls.calls)
            }
        }
    }

    /// The same for values of another type, which a closure converts; the store has another name or rule then, by which a call after an
    /// interruption knows what is converted.
    ///
    /// - Parameters:
    ///   - old: The store as it was used so far.
    ///   - type: The type of its values.
    ///   - permission: Authorises the use of the values under their former rule.
    ///   - convert: Converts one value; runs on the caller's actor, and again if another program changed the value meanwhile.
    /// - Throws: ``TouchstoneError`` as ``migrate(from:with:)``; `typeMismatch` for a value of another type, which ends the migration
    ///   there, `unsupported` for a store of the same name and rule.
    public func migrate<Old: Decodable, New: Encodable>(
        from old: SecretStore,
        as type: Old.Type = Old.self,
        with permission: Permission = .standard,
        _ convert: (Old) -> New
    ) async throws(TouchstoneError) {
        let (migration, link) = (try StoreMigration(of: old, to: self, permission), keychain.link)
        guard !migration.isInPlace || old.rule != rule else {
            throw .unsupported("migrate: values of another type need another name or rule")
        }
        try await link.run(migration) { keys, context throws(TouchstoneError) in
            for key in keys {
                try await link.convert(key, by: migration, context) { found throws(TouchstoneError) in
                    try SecretCoding.encode(convert(try SecretCoding.decode(type, found.bytes())))
                }
            }
        }
    }
}

/// A move of a store's values to another rule, name, or both.
///
/// Each value has its rule in an attribute, which changes together with what the system enforces. The store's marker changes last: while it
/// has the former rule, other programs may still write under that one, so all is repeated until there is nothing left to do.
struct StoreMigration: Sendable {
    let old: StoreAccess
    let new: StoreAccess

    /// - Throws: ``TouchstoneError`` with `unsupported`, and for an argument.
    init(
        of old: SecretStore,
        to new: SecretStore,
        _ permission: SecretStore.Permission
    ) throws(TouchstoneError) {
        self.old = try old.access(permission, nil)
        self.new = try new.access(permission, nil)
        guard old.keychain.link.identity == new.keychain.link.identity else {
            throw .unsupported("migrate: a store of another keychain")
        }
        guard old.group == nil || old.group == new.group else {
            throw .unsupported("migrate: values do not leave the group that shares them")
        }
    }

    /// Whether the values keep the store's name.
    var isInPlace: Bool { StorePlace(old.store) == StorePlace(new.store) }

    /// The keys of the values that are to be moved, after all checks of both stores; shows no prompt.
    func keys(_ calls: KeychainCalls) throws(TouchstoneError) -> [String] {
        let (old, new) = stores(calls)
        guard !isInPlace || old.rule != new.rule else { return [] }
        if let made = try old.markedRule(), !isInPlace || made != new.rule.description {
            try old.compare(made)
        }
        if !isInPlace { try new.checkRule(makes: false) }
        var keys = try old.keysUnderRule()
        // In another store, a value of the same key stays.
        if !isInPlace, !keys.isEmpty { keys.subtract(try calls.list(new.place.query(nil)).map(\.account)) }
        guard !keys.isEmpty else { return [] }
        try old.checkLevel()
        try old.checkSensor()
        if isInPlace {
            try new.checkLevel()
            try new.checkSensor()
        } else {
            try new.checkRule(makes: true)
        }
        return keys.sorted()
    }

    /// Moves values as they are.
    func move(_ keys: [String], _ calls: KeychainCalls) throws(TouchstoneError) {
        if isInPlace {
            _ = try move(nil, version: nil, to: nil, calls)
        } else {
            for key in keys { _ = try move(key, version: nil, to: nil, calls) }
        }
    }

    /// Moves one value, or all of them.
    ///
    /// - Parameters:
    ///   - key: The value's key; nil for all values.
    ///   - version: Only a value of this version is moved; nil for any.
    ///   - bytes: What takes the place of the value; nil for the value itself.
    ///   - calls: The requests.
    /// - Returns: false if there is no such value.
    /// - Throws: ``TouchstoneError``.
    func move(
        _ key: String?,
        version: [UInt8]?,
        to bytes: Data?,
        _ calls: KeychainCalls
    ) throws(TouchstoneError) -> Bool {
        let (old, new) = stores(calls)
        let version = (of: version, made: bytes.map { _ in StorePlace.newVersion() })
        let attributes = new.place.query(key, version: version.made, rule: new.rule)
        do throws(TouchstoneError) {
            try old.request { () throws(TouchstoneError) in
                try calls.move(
                    old.place.query(key, version: version.of, rule: old.rule),
                    under: old.rule,
                    to: NewPassword(attributes: attributes, rule: new.rule, bytes: bytes)
                )
            }
            return true
        } catch {
            switch error.code {
            case .notFound: return false
            // Another program wrote it here meanwhile.
            case .alreadyExists: return true
            default: throw error
            }
        }
    }

    /// Gives the store its new rule, or removes the empty store that the values left.
    ///
    /// - Returns: false if there was nothing to do.
    func finish(_ calls: KeychainCalls) throws(TouchstoneError) -> Bool {
        let (old, new) = stores(calls)
        if isInPlace {
            guard old.rule != new.rule else { return false }
            let changed: Void? = try ifPresent { () throws(TouchstoneError) in
                try calls.move(old.marker.attributes, under: .afterFirstUnlock, to: new.marker)
            }
            return changed != nil
        }
        let isEmpty = try calls.list(old.place.query(nil)).allSatisfy { $0.account == StorePlace.marker }
        guard isEmpty else { return false }
        return try calls.delete(old.marker.attributes)
    }

    private func stores(_ calls: KeychainCalls) -> (old: StoreCalls, new: StoreCalls) {
        (StoreCalls(calls: calls, access: old), StoreCalls(calls: calls, access: new))
    }
}

extension StoreCalls {
    /// The keys of the values that are under this rule and not invalidated.
    fileprivate func keysUnderRule() throws(TouchstoneError) -> Set<String> {
        try request { () throws(TouchstoneError) in
            let found = try calls.list(place.query(nil, rule: rule))
            return Set(found.filter { $0.standing == .present }.map(\.account)).subtracting([
                StorePlace.marker
            ])
        }
    }
}

extension KeychainLink {
    /// Moves values until none is left; `move` moves those of some keys.
    fileprivate func run(
        _ migration: StoreMigration,
        _ move: ([String], StoreContext) async throws(TouchstoneError) -> Void
    ) async throws(TouchstoneError) {
        try await inContext(migration.old) { context throws(TouchstoneError) in
            var hasMoved = false
            for _ in 0..<1000 {
                let keys = try await onStore(migration.old, context) { calls throws(TouchstoneError) in
                    try migration.keys(calls.calls)
                }
                if !keys.isEmpty {
                    try await move(keys, context)
                    hasMoved = true
                }
                let isChanged = try await onStore(migration.old, context) { calls throws(TouchstoneError) in
                    try migration.finish(calls.calls)
                }
                guard isChanged || !keys.isEmpty else { return ((), hasShown: hasMoved) }
            }
            throw TouchstoneError(.throttled, details: ["migrate: another program writes all the time"])
        }
    }

    /// Reads one value, converts it and moves it, without losing concurrent changes.
    fileprivate func convert(
        _ key: String,
        by migration: StoreMigration,
        _ context: StoreContext,
        _ convert: (FoundSecret) throws(TouchstoneError) -> Data
    ) async throws(TouchstoneError) {
        while true {
            let found = try await onStore(migration.old, context) { calls throws(TouchstoneError) in
                try ifPresent { () throws(TouchstoneError) in try calls.copy(key) }
            }
            // Another program may delete it meanwhile.
            guard let found else { return }
            let bytes = try convert(found)
            let isMoved = try await onStore(migration.old, context) { calls throws(TouchstoneError) in
                try migration.move(key, version: found.version, to: bytes, calls.calls)
            }
            if isMoved { return }
        }
    }
}
