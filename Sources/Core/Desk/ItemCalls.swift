package import KeychainModel
import SecretMemory

/// Calls about items; a caller sees only items of its groups.
extension Visit {
    /// Adds an item and returns what the caller requested.
    package func add(
        _ body: consuming AddItem,
        request: UInt64
    ) async throws(KeychainError) -> EncodedItems {
        let (attributes, number, prompt) = (body.attributes, body.context, body.prompt)
        // Its secret must outlive every prompt.
        let item = body.item()
        return try await serving(.addItem) { () async throws(KeychainError) in
            let group = try groups.target(of: attributes)
            let context = try contexts.enter(number, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, request: request, prompt: prompt)
            let items = try await calling(&prompts, adding: item.accessControl) {
                (authorization) throws(KeychainError) in
                try await observe(for: item.accessControl)
                return try services.vault.add(item, group: group, authorization: authorization)
            }
            desk.watchers.tellItems(in: [group])
            record("add", item.itemClass, count: 1)
            return items
        }
    }

    /// Reads and compares the enrolled fingers if an access control binds to them.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if no finger is enrolled, or the enrolment cannot be read.
    func observe(for accessControl: AccessControl?) async throws(KeychainError) {
        guard accessControl?.bindsCurrentSet == true else { return }
        try await services.authenticator.observeCurrentSet()
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
            let searched = try groups.read(by: query)
            if searched == [.reads] { await services.reads?.store() }
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            let mayAsk = mayPrompt(query, body.prompt)
            var prompts = PromptBudget(
                context: context,
                request: request,
                prompt: body.prompt,
                mayAsk: mayAsk
            )
            var cursor: ItemCursor?
            var total = 0
            // Also of a look-up that fails or is given up after some pages.
            defer { noteRead(query, in: searched, count: total, context) }
            // The room to send a long page, once one was found.
            var sending: LockedMemoryBudget.Reservation?
            while true {
                // Released before a prompt is shown and before a page is sent: a slow reader blocks no other look-up.
                var room: LockedMemoryBudget.Reservation?
                let page = try await calling(&prompts, usesKey: query.returns.contains(.data)) {
                    (authorization) throws(KeychainError) in
                    var taken: LockedMemoryBudget.Reservation?
                    if query.returns.contains(.data) {
                        taken = await memory.pages.reserveWhenFree(LockedMemoryBudget.pageCost)
                    }
                    let outcome = try services.vault.copy(
                        query,
                        groups: searched,
                        authorization: authorization,
                        after: cursor
                    )
                    if outcome.isDone { room = taken }
                    return outcome
                }
                if page.octets.count > Self.smallPage, sending == nil {
                    sending = memory.longReplies.reserve(LockedMemoryBudget.pageCost)
                    if sending == nil {
                        // Makes the page again once others have been read.
                        _ = consume page
                        room = nil
                        sending = try await roomToSend()
                        continue
                    }
                }
                cursor = page.next
                total += page.count
                withExtendedLifetime(room) {}
                room = nil
                let isLast = cursor == nil
                guard deliver(page, isLast) else { return false }
                sending = nil
                if isLast {
                    record("copy", query.itemClass, count: total)
                    return true
                }
                // Lets the door check whether its caller still wants the rest.
                await Task.yield()
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
            var prompts = PromptBudget(
                context: context,
                request: request,
                prompt: body.prompt,
                mayAsk: mayAsk
            )
            let count = try await calling(&prompts) { (authorization) throws(KeychainError) in
                try await observe(for: body.accessControl)
                // The query names the group to search, the attributes the group to move items to.
                return try services.vault.update(
                    query,
                    groups: try query.attributes[.accessGroup] == nil ? groups.all : groups.usable,
                    changes: Self.changes(body),
                    authorization: authorization
                )
            }
            tellChange(by: query, body.attributes)
            record("update", query.itemClass, count: count)
            return count
        }
    }

    /// Refuses groups that the caller may not use.
    private func checkGroups(of body: borrowing UpdateItems) throws(KeychainError) {
        _ = try groups.named(in: body.query.attributes)
        _ = try groups.named(in: body.attributes)
        // What is kept stays in its item's group.
        if body.former?[.accessGroup] != nil { throw KeychainError(.param) }
    }

    private static func changes(_ body: borrowing UpdateItems) -> ItemChanges {
        ItemChanges(
            attributes: body.attributes,
            accessControl: body.accessControl,
            data: copy(body.data),
            former: body.former
        )
    }

    /// Deletes items; needs no authentication, but attributes can be compared only after the keybag was unlocked.
    ///
    /// - Returns: the number of deleted items, and whether hardware counted the deletion.
    package func delete(_ body: DeleteItems) async throws(KeychainError) -> DeletedItems {
        let query = body.query
        return try await serving(.deleteItems, seeking: query) { () async throws(KeychainError) in
            let searched = try groups.searched(by: query)
            var prompts = PromptBudget(
                context: nil,
                request: nil,
                prompt: body.prompt,
                mayAsk: mayPrompt(query, body.prompt)
            )
            let count = try await calling(&prompts) { _ throws(KeychainError) in
                try services.vault.delete(query, groups: searched)
            }
            tellChange(by: query)
            record("delete", query.itemClass, count: count)
            return DeletedItems(count: count, isCounted: prompts.isCounted)
        }
    }

    /// Stores an item in place of others, without opening them.
    ///
    /// Needs no authentication for what is replaced, as deleting it and adding another one needs none. What the new item requires
    /// is checked first: a refusal leaves everything as it was.
    ///
    /// - Returns: what was done.
    package func replace(
        _ body: consuming ReplaceItem,
        request: UInt64
    ) async throws(KeychainError) -> Replacement {
        try await serving(.replaceItem) { () async throws(KeychainError) in
            let group = try groups.target(of: body.attributes)
            let searched = [try groups.named(in: body.query.attributes) ?? group]
            let query = body.query
            let accessControl = body.accessControl
            let context = try contexts.enter(body.context, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, request: request, prompt: body.prompt)
            let outcome = try await calling(&prompts, adding: accessControl) {
                (authorization) throws(KeychainError) in
                try await observe(for: accessControl)
                return try services.vault.replace(
                    query,
                    groups: searched,
                    with: Self.replacing(body),
                    group: group,
                    authorization: authorization
                )
            }
            if outcome != .unchanged { desk.watchers.tellItems(in: searched + [group]) }
            record("replace", body.itemClass, count: outcome == .unchanged ? 0 : 1)
            return outcome
        }
    }

    private static func replacing(_ body: borrowing ReplaceItem) -> ReplacingItem {
        var attributes = body.attributes
        attributes[.accessGroup] = nil
        let item = NewItem(
            itemClass: body.itemClass,
            attributes: attributes,
            accessControl: body.accessControl,
            data: copy(body.data)
        )
        return ReplacingItem(item: item, mark: copy(body.mark), keepsSame: body.keepsSame)
    }

    /// Deletes the items that have a secret, without opening them; wrong guesses are limited for all callers together.
    ///
    /// - Returns: what was done.
    package func erase(_ body: consuming EraseItems) async throws(KeychainError) -> Erasure {
        let query = body.query
        return try await serving(.eraseItems, seeking: query) { () async throws(KeychainError) in
            let searched = try groups.searched(by: query)
            try desk.guesses.check()
            var prompts = PromptBudget(
                context: nil,
                request: nil,
                prompt: body.prompt,
                mayAsk: mayPrompt(query, body.prompt)
            )
            let erasure = try await calling(&prompts) { _ throws(KeychainError) in
                try services.vault.erase(query, groups: searched, secret: body.secret.copy())
            }
            desk.guesses.note(wrong: erasure.different + erasure.unknown)
            if erasure.deleted > 0 { tellChange(by: query) }
            record("erase", query.itemClass, count: erasure.deleted)
            return erasure
        }
    }

    /// Notifies those that watch the groups of changed items: the named ones, or else the program's own.
    ///
    /// A query that names none may find items of a shared group too; but the others of that group must not learn when this program
    /// changes items of its own.
    private func tellChange(by query: ItemQuery, _ attributes: ItemAttributes = [:]) {
        // What was changed is not refused afterwards.
        guard let groups = try? groups, let group = try? groups.target(of: query.attributes) else { return }
        let target = try? groups.named(in: attributes)
        desk.watchers.tellItems(in: [group] + (target.map { [$0] } ?? []))
    }

    private func roomToSend() async throws(KeychainError) -> LockedMemoryBudget.Reservation {
        guard let room = await memory.longReplies.reserveWhenFree(LockedMemoryBudget.pageCost) else {
            throw KeychainError(AuthenticationError(.appCancel))
        }
        return room
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
        services.audit.record(AuditEvent(.itemAccessed, caller: asker.callerWithStarters, detail: detail))
    }
}
