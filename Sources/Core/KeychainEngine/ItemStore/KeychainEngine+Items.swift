public import KeychainModel
internal import Primitives
internal import SecretMemory

extension KeychainEngine: ItemVault {
    /// Stores a new item durably.
    ///
    /// Sealed on the caller's thread, while the engine may be working for others; the engine then commits it.
    public nonisolated func add(
        _ item: consuming NewItem,
        group: AccessGroup
    ) async throws(KeychainError) -> EncodedItems {
        try Self.check(item)
        knownGroups.note(group.name)
        let password = try await passwordKey(for: item.accessControl, item.applicationPassword)
        let item = Box(item)
        let result = await withCheckedContinuation { continuation in
            bring(item, group, password, holdsThread: false) { continuation.resume(returning: $0) }
        }
        guard let result else { throw KeychainError(.internalComponent) }
        return Self.page(of: item.value, try result.get())
    }

    /// Seals an item on this thread and has the engine commit it; `whenDone` gets the sealed item once it is durable.
    ///
    /// It gets nil if nothing was committed because hardware must follow first and a write with `holdsThread` must not
    /// wait for it.
    private nonisolated func bring(
        _ item: Box<NewItem>,
        _ group: AccessGroup,
        _ password: Key?,
        holdsThread: Bool,
        whenDone: @escaping @Sendable (Result<SealedItem, KeychainError>?) -> Void
    ) {
        let sealing = sealing.withLock { $0 }
        // A failure here is repeated by the engine, which then reports it.
        let early = try? sealing?.seal(item.value, group, password)
        executor.perform {
            self.assumeIsolated { engine in
                let isCurrent = sealing != nil && sealing?.context === engine.standing.context
                do throws(KeychainError) {
                    let early = isCurrent ? early : nil
                    let sealed = if let early { early } else { try engine.seal(item.value, group, password) }
                    engine.queue(
                        PendingWrite(.add(sealed), holdsThread: holdsThread) { result in
                            whenDone(result.map { $0.map { _ in sealed } })
                        }
                    )
                } catch {
                    whenDone(.failure(error))
                }
            }
        }
    }

    /// Stores a new item if no key has to be derived; while the engine works for others, this thread waits for a shared
    /// commit.
    public nonisolated func addAtOnce(
        _ item: consuming NewItem,
        group: AccessGroup
    ) throws(KeychainError) -> EncodedItems? {
        guard !item.accessControl.needsApplicationPassword else { return nil }
        try Self.check(item)
        knownGroups.note(group.name)
        let item = Box(item)
        let alone = try ifFree { engine throws(KeychainError) -> SealedItem? in
            let sealed = try engine.seal(item.value, group, nil)
            return try engine.commitAtOnce(.add(sealed)) == nil ? nil : sealed
        }
        if let alone { return alone.map { Self.page(of: item.value, $0) } }
        // Waiting on the engine's own thread would deadlock.
        guard executor.isIsolatingCurrentContext() != true else { return nil }
        let answer = BlockingFuture<Result<SealedItem, KeychainError>?>()
        bring(item, group, nil, holdsThread: true) { answer.give($0) }
        return try answer.wait().map { (result) throws(KeychainError) in
            Self.page(of: item.value, try result.get())
        }
    }

    private static func check(_ item: borrowing NewItem) throws(KeychainError) {
        guard item.attributes.count <= ItemLimits.mostAttributes else { throw KeychainError(.param) }
        guard item.data.octetCount <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
    }

    /// The fields of the added item that the caller requested.
    private static func page(
        of item: borrowing NewItem,
        _ sealed: SealedItem
    ) -> EncodedItems {
        let page = ItemPage(expectsMany: false)
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

    /// Finds items of these groups and opens those that the authorisation covers.
    public func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) async throws(KeychainError) -> CopyOutcome {
        _ = try context()
        var password: Key?
        if query.returns.contains(.data), let given = authorization.applicationPassword {
            password = await stretch(given)
        }
        return try page(query, groups, authorization, password, after: cursor)
    }

    /// Finds an item if the engine is idle and no key has to be derived.
    public nonisolated func copyAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) throws(KeychainError) -> EncodedItems? {
        guard authorization.applicationPassword == nil else { return nil }
        return try atOnce { engine throws(KeychainError) -> EncodedItems? in
            switch try engine.page(query, groups, authorization, nil, after: nil) {
            case .items(let page): page
            case .needsAuthentication: nil
            }
        }
    }

    /// Runs `body` on this thread if the engine is idle; nil if it is not.
    private nonisolated func atOnce<R: ~Copyable & Sendable>(
        _ body: @Sendable (isolated KeychainEngine) throws(KeychainError) -> R?
    ) throws(KeychainError) -> R? {
        try ifFree(body) ?? nil
    }

    /// ``atOnce(_:)``, with a result that distinguishes a nil of `body` from a busy engine.
    private nonisolated func ifFree<R: ~Copyable & Sendable>(
        _ body: @Sendable (isolated KeychainEngine) throws(KeychainError) -> R?
    ) throws(KeychainError) -> R?? {
        try executor.ifFree { () throws(KeychainError) -> R? in
            var result = Result<R?, KeychainError>.success(nil)
            assumeIsolated { engine in
                do throws(KeychainError) {
                    result = .success(try body(engine))
                } catch {
                    result = .failure(error)
                }
            }
            return try result.get()
        }
    }

    private func page(
        _ query: ItemQuery,
        _ groups: [AccessGroup],
        _ authorization: ItemAuthorization,
        _ password: Key?,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> CopyOutcome {
        let context = try context()
        let store = try usableStore(context)
        let search = try ItemSearch(query, groups: groups, in: context)
        let outcome: ItemStore.PageOutcome
        do throws(KeychainError) {
            outcome = try store.page(
                search,
                context,
                authorization: authorization,
                password: password,
                after: cursor
            )
        } catch {
            noteDamage(error)
            throw error
        }
        switch outcome {
        case .page(let page, let next): return .items(page.finish(next: next))
        case .needsAuthentication(let controls): return .needsAuthentication(controls)
        }
    }

    /// Changes all items that match, all or none.
    public func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> UpdateOutcome {
        try Self.check(changes)
        _ = try context()
        var password: Key?
        if let given = authorization.applicationPassword { password = await stretch(given) }
        let search = try ItemSearch(query, groups: groups, in: try context())
        let update = ItemUpdate(
            search: search,
            groups: groups,
            changes: Box(changes),
            authorization: authorization,
            password: password,
            time: wallClock()
        )
        guard case .updated(let outcome) = try await commit(.update(update)) else {
            throw KeychainError(.param)
        }
        if case .needsAuthentication = outcome, query.authenticationUI != .allow {
            throw KeychainError(.interactionNotAllowed)
        }
        return outcome
    }

    /// Changes all items that match if the engine is idle and neither a prompt nor a derived key is needed.
    public nonisolated func updateAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> Int? {
        guard authorization.applicationPassword == nil else { return nil }
        try Self.check(changes)
        let changes = Box(changes)
        return try atOnce { engine throws(KeychainError) -> Int? in
            let update = ItemUpdate(
                search: try ItemSearch(query, groups: groups, in: try engine.context()),
                groups: groups,
                changes: changes,
                authorization: authorization,
                password: nil,
                time: engine.wallClock()
            )
            guard case .updated(.updated(let count)) = try engine.commitAtOnce(.update(update)) else {
                return nil
            }
            return count
        }
    }

    private static func check(_ changes: borrowing ItemChanges) throws(KeychainError) {
        guard changes.data.octetCount <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        guard changes.attributes.count <= ItemLimits.mostAttributes else { throw KeychainError(.param) }
    }

    /// Deletes all items that match, all or none.
    public func delete(_ query: ItemQuery, groups: [AccessGroup]) async throws(KeychainError) -> Int {
        let search = try ItemSearch(query, groups: groups, in: try context())
        return try Self.countOfDeleted(try await commit(.delete(search)))
    }

    /// Deletes all items that match if the engine is idle.
    public nonisolated func deleteAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup]
    ) throws(KeychainError) -> Int? {
        try atOnce { engine throws(KeychainError) -> Int? in
            let search = try ItemSearch(query, groups: groups, in: try engine.context())
            return try engine.commitAtOnce(.delete(search)).map { (outcome) throws(KeychainError) in
                try Self.countOfDeleted(outcome)
            }
        }
    }

    private static func countOfDeleted(_ outcome: PendingWrite.Outcome) throws(KeychainError) -> Int {
        guard case .deleted(let count) = outcome else { throw KeychainError(.param) }
        // Only items that were already invalidated matched; they are deleted from the file as well.
        guard count > 0 else { throw KeychainError(.itemNotFound, cause: .invalidated) }
        return count
    }

    /// Writes the log back and closes the files; the keybag is locked, and no later call succeeds.
    public func close() {
        standing.close()
        purge?.cancel()
        settling?.cancel()
        sweep?.cancel()
        store?.close()
        store = nil
        storeFault = KeychainError(.notAvailable)
    }
}

extension KeychainEngine {
    /// The context of the open keybag, for the store.
    func context() throws(KeychainError) -> ItemContext {
        guard let context = standing.context else { throw standing.refusal }
        return context
    }

    /// The store, unless it cannot be reached.
    func reachableStore() throws(KeychainError) -> ItemStore {
        // Runs for each call, so the error is copied only if there is one.
        if case .some(let storeFault) = storeFault { throw storeFault }
        guard let store else { throw .damaged }
        return store
    }

    func usableStore(_ context: ItemContext) throws(KeychainError) -> ItemStore {
        let store = try reachableStore()
        try store.reopenIfNeeded(context)
        if store.sweepState != nil { sweepLater() }
        // Without the digest no row can be proved current.
        guard store.itemSet.digest != nil else {
            throw KeychainError(.decode, cause: .setDamaged, remedy: .check)
        }
        return store
    }

    /// Derives an application password's key; the salt is per store, so that one derivation serves a whole request.
    func stretch(_ password: ApplicationPassword) async -> Key? {
        guard let record else { return nil }
        let octets = password.withOctets { Key(SecretBytes(copying: $0)) }
        let salt = KeybagRecord.context("application password", storeID: record.storeID)
        let cost = record.cost.isBelowFloor ? record.cost : .applicationPassword
        return await PasscodeDerivation.derive(octets, salt: salt, cost: cost)
    }

    // MARK: Add

    /// The key of an application password, if an access control needs one.
    private nonisolated func passwordKey(
        for control: AccessControl,
        _ given: ApplicationPassword?
    ) async throws(KeychainError) -> Key? {
        guard control.needsApplicationPassword else { return nil }
        try await checkMayAdd(control)
        guard let given else { throw .passwordMissing }
        return await stretch(given)
    }

    private func checkMayAdd(_ control: AccessControl) throws(KeychainError) {
        if case .notSetUp = standing, control.accessibility == .whenPasscodeSetThisDeviceOnly {
            // Apple's error for an item that requires a passcode to be set.
            throw KeychainError(.authFailed, cause: .notSetUp, remedy: .setPasscode)
        }
        _ = try context()
    }

    private func seal(
        _ item: borrowing NewItem,
        _ group: AccessGroup,
        _ password: Key?
    ) throws(KeychainError) -> SealedItem {
        try checkMayAdd(item.accessControl)
        let context = try context()
        let store = try usableStore(context)
        // A new row must not reuse any number, including one of a missing row.
        try store.readWholeSet(context)
        let sealing = ItemSealing(context: context, rows: store.rows, wallClock: wallClock)
        self.sealing.withLock { $0 = sealing }
        return try sealing.seal(item, group, password)
    }
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
