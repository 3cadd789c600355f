internal import Foundation

/// The requests of one call on a store; they block, so they run on a waiting thread.
struct StoreCalls {
    let calls: KeychainCalls
    let access: StoreAccess

    var rule: AccessRule { access.store.rule }
    var place: StorePlace { StorePlace(access.store) }

    /// Runs a request; if it needs a prompt although the proof met the rule, the proof has ended.
    func request<R: ~Copyable>(_ body: () throws(TouchstoneError) -> R) throws(TouchstoneError) -> R {
        do throws(TouchstoneError) {
            return try body()
        } catch {
            if error.code == .interactionNeeded, case .proof(let proof) = access.permission.kind,
                proof.session.meets(rule)
            {
                throw TouchstoneError(.proofEnded, part: error.part, cause: error.cause)
            }
            throw error
        }
    }

    // MARK: The rule

    /// Compares the store's rule with this value's rule, and the keychain's protection with the required
    /// level.
    ///
    /// - Parameter makes: whether a store without a rule yet gets this one.
    /// - Throws: ``TouchstoneError``: `hardwareTooWeak`, `ruleMismatch`.
    func checkRule(makes: Bool) throws(TouchstoneError) {
        try checkLevel()
        if makes { try checkSensor() }
        if let made = try markedRule() { return try compare(made) }
        guard makes else { return }
        let isNew = try request { () throws(TouchstoneError) in
            try calls.add(marker)
        }
        // Another program stored its rule first.
        if !isNew, let made = try markedRule() { try compare(made) }
    }

    /// The item that fixes the store's rule.
    var marker: NewPassword {
        let attributes = place.query(StorePlace.marker, version: Array(rule.description.utf8))
        return NewPassword(attributes: attributes, rule: rule.ofMarker, bytes: nil)
    }

    func checkLevel() throws(TouchstoneError) {
        guard rule.level != nil else { return }
        try rule.checkLevel(try request { () throws(TouchstoneError) in try calls.level() })
    }

    func checkSensor() throws(TouchstoneError) {
        var shown: PromptSession?
        if case .proof(let proof) = access.permission.kind { shown = proof.session }
        try calls.checkSensor(rule, shown: shown)
    }

    func compare(_ made: String) throws(TouchstoneError) {
        guard made == rule.description else {
            throw .mismatch(made: made, askedFor: rule)
        }
    }

    /// The source form of the rule that the store was made with; nil for a store that was never written.
    func markedRule() throws(TouchstoneError) -> String? {
        try calls.generic(of: place.query(StorePlace.marker)).map { String(decoding: $0, as: UTF8.self) }
    }

    // MARK: One secret

    /// Adds a secret if there is none.
    ///
    /// - Returns: false if there is one already.
    /// - Throws: ``TouchstoneError`` with `invalidated` if the existing secret is invalidated: the system would replace it
    ///   silently, but that decision is the app's.
    func add(_ bytes: Data, _ key: String) throws(TouchstoneError) -> Bool {
        try request { () throws(TouchstoneError) in
            if let found = try calls.list(place.query(key)).first {
                if case .invalidated = found.standing { throw .invalidatedItem }
                if let made = found.rule { try compare(made) }
                return false
            }
            let attributes = place.query(key, version: StorePlace.newVersion(), rule: rule)
            return try calls.add(NewPassword(attributes: attributes, rule: rule, bytes: bytes))
        }
    }

    /// Replaces a secret of the given version; of any version if nil.
    func replace(_ bytes: Data, _ key: String, version: [UInt8]?) throws(TouchstoneError) {
        try request { () throws(TouchstoneError) in
            try calls.replace(
                bytes,
                of: place.query(key, version: version),
                under: rule,
                generic: StorePlace.newVersion()
            )
        }
    }

    /// Reads a secret, after the authentication that its rule requires.
    ///
    /// Takes one request if the secret exists: the rules of the store and of the secret are read only for a secret that is not found.
    func read(_ key: String) throws(TouchstoneError) -> FoundSecret {
        try checkLevel()
        try checkSensor()
        do throws(TouchstoneError) {
            return try copy(key)
        } catch {
            if error.code == .notFound, let made = try markedRule() {
                try compare(made)
                // A migration to this rule has not come to this value yet, or one from it is past it.
                if let made = try calls.list(place.query(key)).first?.rule { try compare(made) }
            }
            throw error
        }
    }

    /// Reads a secret under this rule without any check before.
    func copy(_ key: String) throws(TouchstoneError) -> FoundSecret {
        try request { () throws(TouchstoneError) in
            try calls.copy(place.query(key, rule: rule), under: rule)
        }
    }

    /// Deletes a secret of the given version, or of any if nil; without a key, the whole store; invalidated ones
    /// included.
    ///
    /// - Returns: whether there was one.
    func delete(_ key: String?, version: [UInt8]?) throws(TouchstoneError) -> Bool {
        try request { () throws(TouchstoneError) in try calls.delete(place.query(key, version: version)) }
    }

    /// The status of each key.
    func status() throws(TouchstoneError) -> [String: SecretStore.Status] {
        try request { () throws(TouchstoneError) in
            let isLocked = if rule.need == .afterFirstUnlock { false } else { try calls.isLocked() }
            var status: [String: SecretStore.Status] = [:]
            for item in try calls.list(place.query(nil)) where item.account != StorePlace.marker {
                status[item.account] =
                    switch item.standing {
                    case .present: isLocked ? .locked : .present
                    case .invalidated(let time): .invalidated(time)
                    }
            }
            return status
        }
    }
}
