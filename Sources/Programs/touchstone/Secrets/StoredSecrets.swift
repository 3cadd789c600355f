import KeychainClient
import KeychainModel
import SecretMemory

/// The attributes of a secret, readable without releasing it.
struct StoredSecret {
    let name: String
    let reference: PersistentReference?
    let attributes: ItemAttributes
    /// When the change of enrolled fingers that invalidated it was noticed, in microseconds since 1970, or 0 if
    /// unknown; nil for a secret that can be read.
    let invalidated: Int64?

    var created: Int64? { date(.creationDate) }
    var modified: Int64? { date(.modificationDate) }
    var accessibility: Accessibility? {
        guard case .string(let text) = attributes[.accessible] else { return nil }
        return Accessibility(rawValue: text)
    }

    /// The access control it was stored with.
    var accessControl: AccessControl {
        if case .data(let octets) = attributes[.accessControl],
            let rule = try? AccessControl(decoding: octets)
        {
            return rule
        }
        return AccessControl(accessibility: accessibility ?? .whenUnlocked)
    }

    private func date(_ key: AttributeKey) -> Int64? {
        guard case .date(let microseconds) = attributes[key] else { return nil }
        return microseconds
    }
}

/// The secrets of the command line: generic passwords of one service, by account.
struct StoredSecrets {
    /// `kSecAttrService` of all of them.
    static let service = "touchstone"

    let keychain: RemoteKeychain

    init(keychain: RemoteKeychain = .shared) { self.keychain = keychain }

    /// All secrets, by name; prompts only if the keychain is locked, and the passcode counts in `context` too.
    func all(interactionAllowed: Bool = true, context: UInt64? = nil) throws(CommandError) -> [StoredSecret] {
        do throws(KeychainError) {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string(Self.service)],
                limit: .all,
                returns: [.attributes, .persistentRef, .invalidated]
            )
            let prompt = prompt("List the secrets.", interactionAllowed: interactionAllowed)
            return secrets(of: try keychain.copy(CopyItems(query: query, context: context, prompt: prompt)))
        } catch {
            if error.status == .itemNotFound { return [] }
            throw ErrorText.describe(error)
        }
    }

    /// The attributes of one secret; a passcode that unlocks the keychain for it counts in `context` too.
    func find(_ name: ItemName, context: UInt64? = nil) throws(CommandError) -> StoredSecret {
        do throws(KeychainError) {
            let query = query(name, returns: [.attributes, .persistentRef, .invalidated])
            let results = try keychain.copy(
                CopyItems(query: query, context: context, prompt: prompt("Look up '\(name.text)'."))
            )
            guard let secret = secrets(of: results).first else { throw KeychainError(.itemNotFound) }
            return secret
        } catch {
            throw failure(error, name)
        }
    }

    /// ``find(_:context:)``; nil if there is no secret of this name.
    func findIfThere(_ name: ItemName, context: UInt64?) throws(CommandError) -> StoredSecret? {
        do throws(CommandError) {
            return try find(name, context: context)
        } catch {
            guard error.exitCode == .notFound else { throw error }
            return nil
        }
    }

    /// Releases one secret; secrets that one finger should release together share a context.
    func read(_ name: ItemName, reason: String, context: UInt64) throws(CommandError) -> SecretBytes {
        do throws(KeychainError) {
            return try release(query(name, returns: .data), reason: reason, context: context)
        } catch {
            throw failure(error, name)
        }
    }

    /// Releases what a query of one item's data finds.
    func release(
        _ query: ItemQuery,
        reason: String,
        context: UInt64
    ) throws(KeychainError) -> SecretBytes {
        let request = CopyItems(query: query, context: context, prompt: prompt(reason))
        return try passcodeFirst(reason) { () throws(KeychainError) in
            let results = try keychain.copy(request)
            guard let item = results.first(), let data = try item.copyData() else {
                throw KeychainError(.itemNotFound)
            }
            return data
        }
    }

    /// Stores a new secret.
    func add(_ name: ItemName, _ secret: consuming SecretBytes, _ rule: AccessControl) throws(CommandError) {
        do throws(KeychainError) {
            try store(name, secret, rule)
        } catch {
            throw ErrorText.describe(error, storing: name, rule)
        }
    }

    /// Replaces a secret in one step, and keeps its value if the keychain does (``HistorySetting``); adds it if it does not exist.
    func replace(
        _ name: ItemName,
        _ secret: consuming SecretBytes,
        _ rule: AccessControl,
        context: UInt64? = nil
    ) throws(CommandError) {
        let kept = try keeping(name, .replaced, reason: "Replace '\(name.text)'.", context: context)
        try replace(name, secret, rule, keeping: kept?.attributes, context: context)
        if let kept { try prune(kept.setting) }
    }

    private func replace(
        _ name: ItemName,
        _ secret: consuming SecretBytes,
        _ rule: AccessControl,
        keeping former: ItemAttributes?,
        context: UInt64?
    ) throws(CommandError) {
        do throws(KeychainError) {
            if try overwrite(name, secret.copyToSend(), rule, keeping: former, context: context) { return }
            do throws(KeychainError) {
                try store(name, secret.copyToSend(), rule)
            } catch {
                // A duplicate now: another program added it meanwhile.
                guard error.status == .duplicateItem,
                    try overwrite(name, secret, rule, keeping: former, context: context)
                else { throw error }
            }
        } catch {
            throw ErrorText.describe(error, storing: name, rule)
        }
    }

    /// Deletes a secret permanently, including one that was invalidated; what is kept of it stays.
    ///
    /// - Returns: whether hardware counted the deletion, if it counts any.
    func delete(_ name: ItemName) throws(CommandError) -> Bool {
        do throws(KeychainError) {
            return try keychain.delete(
                DeleteItems(
                    query: query(name, returns: .invalidated),
                    prompt: prompt("Delete '\(name.text)'.")
                )
            ).isCounted
        } catch {
            throw failure(error, name)
        }
    }

    /// Overwrites a secret; false if it does not exist.
    private func overwrite(
        _ name: ItemName,
        _ secret: consuming SecretBytes,
        _ rule: AccessControl,
        keeping former: ItemAttributes?,
        context: UInt64?
    ) throws(KeychainError) -> Bool {
        let request = UpdateItems(
            query: query(name),
            attributes: [:],
            accessControl: rule,
            data: secret,
            former: former,
            context: context,
            prompt: prompt("Replace '\(name.text)'.")
        )
        do throws(KeychainError) {
            return try keychain.update(request) > 0
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return false
        }
    }

    func store(
        _ name: ItemName,
        _ secret: consuming SecretBytes,
        _ rule: AccessControl
    ) throws(KeychainError) {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.service: .string(Self.service), .account: .string(name.text)],
            accessControl: rule,
            data: secret,
            prompt: prompt("Store '\(name.text)'.")
        )
        _ = try keychain.add(item)
    }

    func query(_ name: ItemName, returns: ItemQuery.Returns = []) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(Self.service), .account: .string(name.text)],
            returns: returns
        )
    }

    func query(_ references: [PersistentReference]) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, limit: .all, references: references)
    }

    /// Changes secrets, all or none, without reading them; an update without a change asks for what they require.
    ///
    /// - Returns: their number; fewer than the references if some are gone.
    func update(
        _ references: [PersistentReference],
        attributes: ItemAttributes = [:],
        _ rule: AccessControl? = nil,
        context: UInt64,
        _ prompt: PromptFields
    ) throws(KeychainError) -> Int {
        let request = UpdateItems(
            query: query(references),
            attributes: attributes,
            accessControl: rule,
            data: nil,
            context: context,
            prompt: prompt
        )
        return try keychain.update(request)
    }

    func prompt(_ reason: String, interactionAllowed: Bool = true) -> PromptFields {
        // No passcode button if only a finger releases a secret: the passcode would not.
        PromptFields(
            origin: .current(),
            reason: reason,
            fallbackTitles: [],
            interactionAllowed: interactionAllowed
        )
    }

    func secrets(of results: borrowing ItemResults) -> [StoredSecret] {
        var found: [StoredSecret] = []
        results.forEach { item in
            guard let attributes = item.attributes, case .string(let name) = attributes[.account] else {
                return
            }
            found.append(
                StoredSecret(
                    name: name,
                    reference: item.reference,
                    attributes: attributes,
                    invalidated: item.invalidated
                )
            )
        }
        return found.sorted { $0.name < $1.name }
    }
}

extension SecretBytes {
    /// - Throws: `errSecAllocate` if memory cannot be locked.
    fileprivate borrowing func copyToSend() throws(KeychainError) -> SecretBytes {
        do throws(SecretMemoryError) {
            return try lockedCopy()
        } catch {
            throw KeychainError(error)
        }
    }
}
