package import KeychainModel
import SecretMemory

/// Calls about items; a caller sees only items of its groups.
extension Visit {
    /// Adds an item and returns what the caller requested.
    package func add(
        _ body: consuming AddItem,
        request: UInt64
    ) async throws(KeychainError) -> EncodedItems {
        try await serving(.addItem) { () async throws(KeychainError) in
            let group = try groups.target(of: body.attributes)
            let accessControl = body.accessControl
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, prompt: body.prompt)
            let items = try await unlocking(&prompts, adding: accessControl) { () throws(KeychainError) in
                try await observe(for: accessControl)
                let password = try contexts.authorization(of: context).applicationPassword
                return try await services.vault.add(Self.item(body, password), group: group)
            }
            record("add", body.itemClass, count: 1)
            return items
        }
    }

    /// The item to add; its secret is copied, because a prompt may come first.
    private static func item(_ body: borrowing AddItem, _ password: ApplicationPassword?) -> NewItem {
        var attributes = body.attributes
        attributes[.accessGroup] = nil
        return NewItem(
            itemClass: body.itemClass,
            attributes: attributes,
            accessControl: body.accessControl,
            data: copy(body.data),
            returns: body.returns,
            applicationPassword: password
        )
    }

    /// Reads and compares the enrolled fingers if an access control binds to them.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if no finger is enrolled, or the enrolment cannot be read.
    func observe(for accessControl: AccessControl?) async throws(KeychainError) {
        guard accessControl?.bindsCurrentSet == true else { return }
        try await services.authenticator.observeCurrentSet()
    }

    /// Adds an item synchronously if no prompt is needed.
    ///
    /// - Returns: nil if nothing was done and the caller must use ``add(_:request:)``.
    package func addAtOnce(_ body: borrowing AddItem) throws(KeychainError) -> EncodedItems? {
        checkAsker()
        guard body.context == nil, !body.accessControl.bindsCurrentSet else { return nil }
        return try atOnce(.addItem, adding: body.accessControl) { () throws(KeychainError) -> EncodedItems? in
            let group = try groups.target(of: body.attributes)
            guard let items = try services.vault.addAtOnce(Self.item(body, nil), group: group) else {
                return nil
            }
            record("add", body.itemClass, count: 1)
            return items
        }
    }

    /// Changes items synchronously if no prompt is needed.
    ///
    /// - Returns: nil if nothing was done and the caller must use ``update(_:request:)``.
    package func updateAtOnce(_ body: borrowing UpdateItems) throws(KeychainError) -> Int? {
        checkAsker()
        guard body.context == nil, body.accessControl?.bindsCurrentSet != true else { return nil }
        return try atOnce(.updateItems, seeking: body.query) { () throws(KeychainError) in
            try checkGroups(of: body)
            let count = try services.vault.updateAtOnce(
                body.query,
                groups: try groups.all,
                changes: Self.changes(body),
                authorization: ItemAuthorization()
            )
            guard let count else { return nil }
            record("update", body.query.itemClass, count: count)
            return count
        }
    }

    /// Deletes items synchronously if no prompt is needed.
    ///
    /// - Returns: nil if nothing was done and the caller must use ``delete(_:)``.
    package func deleteAtOnce(_ body: borrowing DeleteItems) throws(KeychainError) -> Int? {
        checkAsker()
        return try atOnce(.deleteItems, seeking: body.query) { () throws(KeychainError) in
            let searched = try groups.searched(by: body.query)
            guard let count = try services.vault.deleteAtOnce(body.query, groups: searched) else {
                return nil
            }
            record("delete", body.query.itemClass, count: count)
            return count
        }
    }

    /// Runs a change synchronously and converts its error.
    ///
    /// - Returns: nil if the change returns nil, a key is not in memory, or the error has to name the item's owner.
    private func atOnce<R: ~Copyable>(
        _ method: Method,
        adding accessControl: AccessControl? = nil,
        seeking query: ItemQuery? = nil,
        _ change: () throws(KeychainError) -> R?
    ) throws(KeychainError) -> R? {
        do throws(KeychainError) {
            return try change()
        } catch {
            guard error.cause != .locked, !mayName(ownerFor: query, error) else { return nil }
            throw failed(named(error, adding: accessControl), method)
        }
    }

    /// Answers a single-item look-up synchronously when it needs no prompt.
    ///
    /// - Parameters:
    ///   - body: the look-up.
    ///   - request: its number.
    ///   - room: the locked memory reserved for the reply, to be held until it was sent.
    /// - Returns: the item; nil if the caller must use ``copy(_:request:deliver:)``.
    /// - Throws: ``KeychainError`` if there is no such item.
    package func copyAtOnce(
        _ body: borrowing CopyItems,
        request: UInt64,
        room: inout LockedMemoryBudget.Reservation?
    ) throws(KeychainError) -> EncodedItems? {
        checkAsker()
        guard body.query.limit == .one else { return nil }
        if body.query.returns.contains(.data) {
            room = budget.reserve(LockedMemoryBudget.pageCost)
            guard room != nil else { return nil }
        }
        do throws(KeychainError) {
            guard let page = try itemAtOnce(body, request: request) else {
                room = nil
                return nil
            }
            if page.octets.count <= Self.smallPage { room = nil }
            record("copy", body.query.itemClass, count: page.count)
            return page
        } catch {
            room = nil
            guard error.status == .itemNotFound, !mayName(ownerFor: body.query, error) else { return nil }
            throw failed(error, .copyItems)
        }
    }

    private func itemAtOnce(
        _ body: borrowing CopyItems,
        request: UInt64
    ) throws(KeychainError) -> EncodedItems? {
        let searched = try groups.searched(by: body.query)
        guard let number = body.context else {
            return try services.vault.copyAtOnce(
                body.query,
                groups: searched,
                authorization: ItemAuthorization()
            )
        }
        let context = try contexts.enter(number, request: request)
        defer { contexts.leave(context, request: request) }
        return try services.vault.copyAtOnce(
            body.query,
            groups: searched,
            authorization: try contexts.authorization(of: context)
        )
    }

    /// Looks up items and delivers them page by page.
    ///
    /// - Parameters:
    ///   - body: the look-up.
    ///   - request: its number.
    ///   - deliver: sends a page, with whether it is the last one; returns false to end the call.
    /// - Returns: false if `deliver` did.
    /// - Throws: ``KeychainError``, possibly after some pages.
    package func copy(
        _ body: CopyItems,
        request: UInt64,
        deliver: (_ page: consuming EncodedItems, _ isLast: Bool) -> Bool
    ) async throws(KeychainError) -> Bool {
        let query = body.query
        return try await serving(.copyItems, seeking: query) { () async throws(KeychainError) in
            let searched = try groups.searched(by: query)
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            let mayAsk = mayPrompt(query, body.prompt)
            var prompts = PromptBudget(context: context, prompt: body.prompt, mayAsk: mayAsk)
            var cursor: ItemCursor?
            var total = 0
            while true {
                // Released before a prompt is shown, and before a small page is sent, so that a slow reader blocks few
                // other requests.
                var room: LockedMemoryBudget.Reservation?
                let outcome = try await unlocking(&prompts) { () throws(KeychainError) in
                    var taken: LockedMemoryBudget.Reservation?
                    if query.returns.contains(.data) {
                        taken = await budget.reserveWhenFree(LockedMemoryBudget.pageCost)
                    }
                    let outcome = try await services.vault.copy(
                        query,
                        groups: searched,
                        authorization: try contexts.authorization(of: context),
                        after: cursor
                    )
                    room = taken
                    return outcome
                }
                switch consume outcome {
                case .needsAuthentication(let controls):
                    room = nil
                    try await ask(for: controls, .useItem, &prompts)
                case .items(let page):
                    cursor = page.next
                    total += page.count
                    if page.octets.count <= Self.smallPage { room = nil }
                    let isLast = cursor == nil
                    guard deliver(page, isLast) else { return false }
                    if isLast {
                        record("copy", query.itemClass, count: total)
                        return true
                    }
                    withExtendedLifetime(room) {}
                    // Lets the door check whether its caller still wants the rest.
                    await Task.yield()
                }
            }
        }
    }

    /// Changes items; the new secret is copied for each round, since any round may end in a prompt.
    ///
    /// - Returns: the number of changed items.
    package func update(_ body: consuming UpdateItems, request: UInt64) async throws(KeychainError) -> Int {
        let query = body.query
        return try await serving(.updateItems, seeking: query) { () async throws(KeychainError) in
            try checkGroups(of: body)
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            let mayAsk = mayPrompt(query, body.prompt)
            var prompts = PromptBudget(context: context, prompt: body.prompt, mayAsk: mayAsk)
            while true {
                let outcome = try await unlocking(&prompts) { () throws(KeychainError) in
                    try await observe(for: body.accessControl)
                    // All groups: the query names the group to search, the attributes the group to move items to.
                    return try await services.vault.update(
                        query,
                        groups: try groups.all,
                        changes: Self.changes(body),
                        authorization: try contexts.authorization(of: context)
                    )
                }
                switch outcome {
                case .needsAuthentication(let controls): try await ask(for: controls, .useItem, &prompts)
                case .updated(let count):
                    record("update", query.itemClass, count: count)
                    return count
                }
            }
        }
    }

    /// Refuses groups that the caller may not use.
    private func checkGroups(of body: borrowing UpdateItems) throws(KeychainError) {
        _ = try groups.named(in: body.query.attributes)
        _ = try groups.named(in: body.attributes)
    }

    private static func changes(_ body: borrowing UpdateItems) -> ItemChanges {
        ItemChanges(
            attributes: body.attributes,
            accessControl: body.accessControl,
            data: copy(body.data)
        )
    }

    /// Deletes items; needs no authentication, but attributes can be compared only after the keybag was unlocked.
    ///
    /// - Returns: the number of deleted items.
    package func delete(_ body: DeleteItems) async throws(KeychainError) -> Int {
        let query = body.query
        return try await serving(.deleteItems, seeking: query) { () async throws(KeychainError) in
            let searched = try groups.searched(by: query)
            var prompts = PromptBudget(
                context: nil,
                prompt: body.prompt,
                mayAsk: mayPrompt(query, body.prompt)
            )
            let count = try await unlocking(&prompts) { () throws(KeychainError) in
                try await services.vault.delete(query, groups: searched)
            }
            record("delete", query.itemClass, count: count)
            return count
        }
    }

    /// The largest page, in bytes, that is sent at once and not charged to the budget meanwhile.
    private static let smallPage = 1 << 16

    private static func copy(_ data: borrowing SecretBytes?) -> SecretBytes? {
        switch data {
        case .some(let data): data.copy()
        case .none: nil
        }
    }

    private func mayPrompt(_ query: ItemQuery, _ prompt: PromptFields) -> Bool {
        query.authenticationUI == .allow && prompt.interactionAllowed
    }

    private func record(_ verb: StaticString, _ itemClass: ItemClass?, count: Int) {
        guard services.audit.isHeard(.itemAccessed) else { return }
        let detail = "\(verb) \(itemClass?.rawValue ?? "any") \(count)"
        services.audit.record(AuditEvent(.itemAccessed, caller: caller, detail: detail))
    }
}
