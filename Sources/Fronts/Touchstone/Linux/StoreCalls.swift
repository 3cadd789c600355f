internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

/// The requests of one call on a store; they block, so they run on a waiting thread.
struct StoreCalls {
    let client: RemoteKeychain
    let access: StoreAccess
    let context: UInt64?
    let prompt: PromptFields
    let cancellation: Cancellation

    private var rule: AccessRule { access.store.rule }
    private var place: StorePlace { StorePlace(access.store) }

    /// Runs a request; its failure in this module's words.
    private func request<R: ~Copyable>(_ body: () throws(KeychainError) -> R) throws(TouchstoneError) -> R {
        do throws(KeychainError) {
            return try body()
        } catch {
            let error = TouchstoneError(error)
            // What was shown once was enough, so it does not count any more.
            if error.code == .interactionNeeded, case .proof(let proof) = access.permission.kind,
                rule.isMet(by: proof.session.factors)
            {
                throw TouchstoneError(.proofEnded, part: error.part, cause: error.cause)
            }
            throw error
        }
    }

    // MARK: The rule

    /// Compares the store's rule with the handle's, and the keychain's protection with what that demands.
    ///
    /// - Parameter makes: whether a store that has no rule yet gets this one.
    /// - Throws: ``TouchstoneError``: `hardwareTooWeak`, `ruleMismatch`.
    func checkRule(makes: Bool) throws(TouchstoneError) {
        try checkLevel()
        if makes { try checkSensor() }
        if let made = try markedRule() { return try compare(made) }
        guard makes else { return }
        let isNew = try request { () throws(KeychainError) in
            try Self.isNew { () throws(KeychainError) in
                let item = AddItem(
                    itemClass: .genericPassword,
                    attributes: place.attributes(StorePlace.marker, generic: Array(rule.description.utf8)),
                    accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
                    data: nil,
                    context: context,
                    prompt: prompt
                )
                _ = try client.add(item, cancellation: cancellation)
            }
        }
        // Another program was first.
        if !isNew, let made = try markedRule() { try compare(made) }
    }

    private func checkLevel() throws(TouchstoneError) {
        guard rule.level != nil else { return }
        let status = try request { () throws(KeychainError) in try client.status() }
        try rule.checkLevel(HardwareLevel(status.assurance))
    }

    private func checkSensor() throws(TouchstoneError) {
        var shown: Set<AuthenticationFactor> = []
        if case .proof(let proof) = access.permission.kind { shown = proof.session.factors }
        try client.checkSensor(rule, shown: shown)
    }

    private func compare(_ made: String) throws(TouchstoneError) {
        guard made == rule.description else {
            throw TouchstoneError(.ruleMismatch, details: ["made with: \(made)", "asked for: \(rule)"])
        }
    }

    /// The rule that the store was made with, as it is written; nil for a store that was never written.
    private func markedRule() throws(TouchstoneError) -> String? {
        try below { () throws(KeychainError) in
            try ifPresent { () throws(KeychainError) in
                let query = place.query(StorePlace.marker, returns: .attributes)
                let found = try client.copy(
                    CopyItems(query: query, context: context, prompt: prompt),
                    cancellation: cancellation
                )
                return String(decoding: FoundSecret(found).version, as: UTF8.self)
            }
        }
    }

    // MARK: One secret

    /// Adds a secret where there is none.
    ///
    /// - Returns: false where there is one already.
    /// - Throws: ``TouchstoneError`` with `invalidated` where there is one that can never be opened again: the daemon would put
    ///   the new one in its place, and the app is to decide.
    func add(_ bytes: Data, _ key: String) throws(TouchstoneError) -> Bool {
        try request { () throws(KeychainError) in
            if let isInvalidated = try find(key) {
                if isInvalidated { throw KeychainError(.itemNotFound, cause: .invalidated) }
                return false
            }
            return try Self.isNew { () throws(KeychainError) in
                try client.addPassword(
                    bytes,
                    place.attributes(key, generic: StorePlace.newVersion(), rule: rule),
                    try rule.control(),
                    context,
                    prompt,
                    cancellation
                )
            }
        }
    }

    /// Replaces a secret that is of this version; of any without one.
    func replace(_ bytes: Data, _ key: String, version: [UInt8]?) throws(TouchstoneError) {
        try request { () throws(KeychainError) in
            let room = try LockedRoom.shared.reserve(bytes.count, cancellation: cancellation)
            defer { withExtendedLifetime(room) {} }
            let update = UpdateItems(
                query: place.query(key, version: version),
                attributes: [.generic: .data(StorePlace.newVersion())],
                accessControl: nil,
                data: try SecretBytes.locked(bytes),
                context: context,
                prompt: prompt
            )
            try client.update(update, cancellation: cancellation)
        }
    }

    /// Reads a secret, after what its rule demands.
    ///
    /// One request where it is there: the store's marker is looked at for one that is not found alone.
    func read(_ key: String) throws(TouchstoneError) -> FoundSecret {
        try checkLevel()
        try checkSensor()
        do throws(TouchstoneError) {
            return try request { () throws(KeychainError) in
                let query = place.query(key, rule: rule, returns: [.data, .attributes])
                return FoundSecret(
                    try client.copy(
                        CopyItems(query: query, context: context, prompt: prompt),
                        cancellation: cancellation
                    )
                )
            }
        } catch {
            if error.code == .notFound, let made = try markedRule() { try compare(made) }
            throw error
        }
    }

    /// Deletes a secret of this version, of any without one; without a key, all of the store.
    ///
    /// - Returns: whether there was one.
    func delete(_ key: String?, version: [UInt8]?) throws(TouchstoneError) -> Bool {
        try request { () throws(KeychainError) in
            // Those that are invalidated are deleted and counted too.
            try client.deletes(
                place.query(key, version: version, returns: .invalidated),
                prompt,
                cancellation
            )
        }
    }

    /// Where each key stands.
    func status() throws(TouchstoneError) -> [String: SecretStore.Status] {
        try request { () throws(KeychainError) in
            let keybag = try client.status().keybag
            let isLocked = rule.need != .afterFirstUnlock && keybag != .unlocked
            var status: [String: SecretStore.Status] = [:]
            try ifPresent { () throws(KeychainError) in
                let query = place.query(nil, returns: [.attributes, .invalidated])
                let found = try client.copy(
                    CopyItems(query: query, prompt: prompt),
                    cancellation: cancellation
                )
                found.forEach { item in
                    guard case .string(let key)? = item.attributes?[.account], key != StorePlace.marker else {
                        return
                    }
                    status[key] =
                        if let time = item.invalidated {
                            .invalidated(time > 0 ? Date(timeIntervalSince1970: Double(time) / 1e6) : nil)
                        } else {
                            isLocked ? .locked : .present
                        }
                }
            }
            return status
        }
    }

    // MARK: Parts

    /// Whether a secret that is there is invalidated; nil where there is none.
    private func find(_ key: String) throws(KeychainError) -> Bool? {
        let query = place.query(key, returns: [.attributes, .invalidated])
        let request = CopyItems(query: query, context: context, prompt: prompt)
        return try ifPresent { () throws(KeychainError) in
            var isInvalidated = false
            try client.copy(request, cancellation: cancellation).forEach {
                isInvalidated = $0.invalidated != nil
            }
            return isInvalidated
        }
    }

    /// Whether an add went through; false for a name that is taken.
    private static func isNew(_ add: () throws(KeychainError) -> Void) throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            try add()
            return true
        } catch {
            guard error.status == .duplicateItem else { throw error }
            return false
        }
    }
}
