public import KeychainModel
internal import Primitives
internal import SecretMemory

extension SealedItems: ItemVault {
    // MARK: Add

    /// Stores a new item durably; it is sealed while other threads use the items.
    public func add(
        _ item: borrowing NewItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<EncodedItems> {
        try item.attributes.checkLimits()
        guard item.data.octetCount <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        knownGroups.note(group.name)
        while true {
            let sealing = try sealing(for: item.accessControl)
            var password: Key?
            if item.accessControl.needsApplicationPassword {
                guard authorization.applicationPassword != nil else { throw .newPasswordMissing }
                guard let key = authorization.passwordKey else { return .needsKey }
                password = key.key
            }
            let sealed = try sealing.seal(item, group, password)
            let (outcome, isBehind) = try commit(.add(sealed, in: sealing.context))
            // The keys changed meanwhile.
            if case .stale = outcome { continue }
            let page = Self.page(of: item, sealed)
            return isBehind ? .needsHardware(page) : .done(page)
        }
    }

    private func sealing(for control: AccessControl) throws(KeychainError) -> ItemSealing {
        if let sealing = sealing.withLock({ $0 }) { return sealing }
        return try withState { (state) throws(KeychainError) in
            let context: ItemContext
            do throws(KeychainError) {
                context = try keys.context()
            } catch {
                guard error.cause == .notSetUp, control.accessibility == .whenPasscodeSetThisDeviceOnly else {
                    throw error
                }
                // Apple's error for an item that requires a passcode to be set.
                throw KeychainError(.authFailed, cause: .notSetUp, remedy: .setPasscode)
            }
            let store = try usableStore(&state, context)
            // A new row must not reuse any number, including one of a missing row.
            try store.readWholeSet(context)
            let made = ItemSealing(context: context, rows: store.rows, wallClock: wallClock)
            sealing.withLock { $0 = made }
            return made
        }
    }

    /// The fields of the added item that the caller requested.
    private static func page(of item: borrowing NewItem, _ sealed: SealedItem) -> EncodedItems {
        var page = ItemPage(expectsMany: false)
        let hasData = item.returns.contains(.data) && item.data != nil
        let returns = item.returns
        unsafe sealed.reference.withUnsafeBytes { reference in
            unsafe sealed.map.withUnsafeBytes { map in
                unsafe page.begin(returns, row: 0, reference: reference, attributes: map, hasData: hasData)
            }
        }
        if hasData { unsafe item.data.lend { unsafe page.append(data: $0) } }
        return page.finish(next: nil)
    }

    // MARK: Copy

    /// Finds items of these groups and opens those that the authorisation covers.
    public func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> VaultOutcome<EncodedItems> {
        try withState { (state) throws(KeychainError) in
            let context = try keys.context()
            if query.returns.contains(.data), authorization.lacksKey { return .needsKey }
            let store = try usableStore(&state, context)
            let search = try ItemSearch(query, groups: groups, in: context)
            do throws(KeychainError) {
                let outcome = try store.page(
                    search,
                    context,
                    authorization: authorization,
                    password: authorization.passwordKey?.key,
                    hidesNames: hidesNamesWhileLocked,
                    after: cursor
                )
                switch consume outcome {
                case .page(let items): return .done(items)
                case .needsUser(let controls): return .needsUser(controls)
                }
            } catch {
                noteDamage(error, &state)
                throw error
            }
        }
    }

    // MARK: Update

    /// Changes all items that match, all or none.
    public func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Int> {
        guard changes.data.octetCount <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        try changes.attributes.checkLimits()
        try changes.former?.checkLimits()
        let context = try keys.context()
        if authorization.lacksKey { return .needsKey }
        let update = ItemUpdate(
            search: try ItemSearch(query, groups: groups, in: context),
            groups: groups,
            changes: Box(changes),
            authorization: authorization,
            password: authorization.passwordKey?.key,
            time: wallClock()
        )
        let (outcome, isBehind) = try commit(.update(update))
        switch outcome {
        case .updated(let count): return isBehind ? .needsHardware(count) : .done(count)
        case .needsUser(let controls):
            guard query.authenticationUI == .allow else { throw KeychainError(.interactionNotAllowed) }
            return .needsUser(controls)
        case .added, .deleted, .replaced, .erased, .merged, .counted, .stale:
            throw KeychainError(.internalComponent)
        }
    }

    // MARK: Delete

    /// Deletes all items that match, with one commit for up to 512.
    ///
    /// More are deleted in parts, so that others get their turn; what is deleted stays so if a later part fails.
    public func delete(
        _ query: ItemQuery,
        groups: [AccessGroup]
    ) throws(KeychainError) -> VaultOutcome<Int> {
        let deletion = ItemDeletion(try ItemSearch(query, groups: groups, in: try keys.context()))
        let isBehind = try commitInParts(.delete(deletion)) { outcome in
            guard case .deleted(let part) = outcome else { return nil }
            deletion.done = part
            return part.progress
        }
        let count = deletion.done.count
        // Only items that were already invalidated matched; they are deleted from the file as well.
        guard count > 0 else { throw KeychainError(.itemNotFound, cause: .invalidated) }
        return isBehind ? .needsHardware(count) : .done(count)
    }

    // MARK: Keys

    /// Derives an application password's key; the salt is per store, so that one derivation serves a whole request.
    public func key(of password: ApplicationPassword) async throws(KeychainError) -> PasswordKey {
        PasswordKey(try await keys.context().key(of: password).copy())
    }
}

extension ItemContext {
    /// Derives the key of an application password.
    func key(of password: ApplicationPassword) async -> Key {
        let octets = password.withOctets { Key(SecretBytes(copying: $0)) }
        return await PasscodeDerivation.derive(octets, salt: passwordSalt, cost: passwordCost)
    }
}

extension ItemAuthorization {
    /// Whether an application password was given whose key has yet to be derived.
    fileprivate var lacksKey: Bool { applicationPassword != nil && passwordKey == nil }
}

extension PasswordKey {
    var key: Key { withOctets { Key(SecretBytes(copying: $0)) } }
}

extension Optional where Wrapped == SecretBytes, Wrapped: ~Copyable {
    var octetCount: Int {
        switch self {
        case .some(let secret): secret.count
        case .none: 0
        }
    }

    borrowing func lend(_ body: (UnsafeRawBufferPointer) -> Void) {
        switch self {
        case .some(let secret): unsafe secret.withUnsafeBytes { unsafe body($0) }
        case .none: break
        }
    }
}
