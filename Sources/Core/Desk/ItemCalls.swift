import KeychainModel
import SecretMemory

/// Calls about items, which see those of the caller's own group alone.
extension RequestHandler {
    /// Adds an item and answers with what it was asked to return.
    func add(_ body: consuming AddItem, head: ReplyHead, reply: Reply) async throws {
        let group = try groups.named(in: body.attributes) ?? groups.own
        let (itemClass, accessControl) = (body.itemClass, body.accessControl)
        let context = try contexts.enter(body.context, request: head.id)
        defer { contexts.leave(context, request: head.id) }
        var turns = UserTurns(context: context, prompt: body.prompt)
        let items = try await unlocking(&turns, adding: accessControl) { () throws(KeychainError) in
            try await observe(for: accessControl)
            let password = try contexts.authorization(of: context).applicationPassword
            return try await services.vault.add(Self.item(body, password), group: group)
        }
        record("add", itemClass, count: 1)
        try reply(ItemsReply.message(head: head, items: items))
    }

    /// The item that is to be added; its secret is copied, since a question may come first.
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

    /// Looks at the enrolled fingers where something is to be bound to them.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` when there is none, or they cannot be seen.
    func observe(for accessControl: AccessControl?) async throws(KeychainError) {
        guard accessControl?.bindsCurrentSet == true else { return }
        try await services.authenticator.observeCurrentSet()
    }

    /// Adds an item for which nobody has to be waited for.
    ///
    /// - Returns: false, and nothing was done, where ``add(_:head:reply:)`` has to.
    func addAtOnce(_ body: borrowing AddItem, head: ReplyHead, reply: Reply) throws(WireError) -> Bool {
        guard body.context == nil, !body.accessControl.bindsCurrentSet else { return false }
        return try atOnce(.addItem, head, adding: body.accessControl, reply) { () throws(KeychainError) in
            let group = try groups.named(in: body.attributes) ?? groups.own
            guard let items = try services.vault.addAtOnce(Self.item(body, nil), group: group) else {
                return nil
            }
            record("add", body.itemClass, count: 1)
            return ItemsReply.message(head: head, items: items)
        }
    }

    /// Changes items for which nobody has to be waited for.
    ///
    /// - Returns: false, and nothing was done, where ``update(_:request:)`` has to.
    func updateAtOnce(
        _ body: borrowing UpdateItems,
        head: ReplyHead,
        reply: Reply
    ) throws(WireError) -> Bool {
        guard body.context == nil, body.accessControl?.bindsCurrentSet != true else { return false }
        return try atOnce(.updateItems, head, seeking: body.query, reply) { () throws(KeychainError) in
            try checkGroups(of: body)
            let count = try services.vault.updateAtOnce(
                body.query,
                groups: groups.all,
                changes: Self.changes(body),
                authorization: ItemAuthorization()
            )
            guard let count else { return nil }
            record("update", body.query.itemClass, count: count)
            return head.message(CountBody(count))
        }
    }

    /// Deletes items for which nobody has to be waited for.
    ///
    /// - Returns: false, and nothing was done, where ``delete(_:)`` has to.
    func deleteAtOnce(
        _ body: borrowing DeleteItems,
        head: ReplyHead,
        reply: Reply
    ) throws(WireError) -> Bool {
        try atOnce(.deleteItems, head, seeking: body.query, reply) { () throws(KeychainError) in
            let searched = try groups.searched(by: body.query)
            guard let count = try services.vault.deleteAtOnce(body.query, groups: searched) else {
                return nil
            }
            record("delete", body.query.itemClass, count: count)
            return head.message(CountBody(count))
        }
    }

    /// Answers with what a change gives, or says why there is none.
    ///
    /// - Returns: false, and nothing was sent, where the change gives nil, or a key is not in memory.
    private func atOnce(
        _ method: Method,
        _ head: ReplyHead,
        adding accessControl: AccessControl? = nil,
        seeking query: ItemQuery? = nil,
        _ reply: Reply,
        _ change: () throws(KeychainError) -> SecretBuffer?
    ) throws(WireError) -> Bool {
        let message: SecretBuffer
        do throws(KeychainError) {
            guard let done = try change() else { return false }
            message = done
        } catch {
            guard error.cause != .locked, !mayName(ownerFor: query, error) else { return false }
            message = failed(named(error, adding: accessControl), method, head)
        }
        try reply(message)
        return true
    }

    /// Answers a look-up of one item for which nobody has to be waited for.
    ///
    /// - Returns: false, and nothing was sent, where ``copy(_:head:reply:)`` has to.
    func copyAtOnce(
        _ body: borrowing CopyItems,
        head: ReplyHead,
        reply: Reply
    ) throws(WireError) -> Bool {
        guard body.query.limit == .one else { return false }
        var room: LockedMemoryBudget.Reservation?
        if body.query.returns.contains(.data) {
            room = budget.reserve(LockedMemoryBudget.pageCost)
            guard room != nil else { return false }
        }
        let page: EncodedItems
        do throws(KeychainError) {
            guard let found = try itemAtOnce(body, request: head.id) else { return false }
            page = found
        } catch {
            guard error.status == .itemNotFound, !mayName(ownerFor: body.query, error) else { return false }
            room = nil
            try reply(failed(error, .copyItems, head))
            return true
        }
        let count = page.count
        if page.octets.count <= Self.smallPage { room = nil }
        try reply(ItemsReply.message(head: head, items: page))
        withExtendedLifetime(room) {}
        record("copy", body.query.itemClass, count: count)
        return true
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

    /// Looks items up and answers page after page.
    func copy(_ body: CopyItems, head: ReplyHead, reply: Reply) async throws {
        let query = body.query
        let searched = try groups.searched(by: query)
        let context = try contexts.enter(body.context, request: head.id)
        defer { contexts.leave(context, request: head.id) }
        var turns = UserTurns(context: context, prompt: body.prompt, mayAsk: mayPrompt(query, body.prompt))
        var cursor: ItemCursor?
        var total = 0
        while true {
            // Given back before anybody is asked; and before the reply is sent, unless there is much to send: a
            // slow reader holds up few.
            var room: LockedMemoryBudget.Reservation?
            let outcome = try await unlocking(&turns) { () throws(KeychainError) in
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
                try await ask(for: controls, .useItem, &turns)
            case .items(let page):
                cursor = page.next
                total += page.count
                if page.octets.count <= Self.smallPage { room = nil }
                let isLast = cursor == nil
                try reply(ItemsReply.message(head: ReplyHead(id: head.id, more: !isLast), items: page))
                if isLast {
                    record("copy", query.itemClass, count: total)
                    return
                }
                withExtendedLifetime(room) {}
                // Lets the connection see whether its client still wants the rest.
                await Task.yield()
            }
        }
    }

    /// Changes items; the new secret is copied for each round, since any may end in a question.
    func update(_ body: consuming UpdateItems, request: UInt64) async throws -> Int {
        let query = body.query
        try checkGroups(of: body)
        let context = try contexts.enter(body.context, request: request)
        defer { contexts.leave(context, request: request) }
        var turns = UserTurns(context: context, prompt: body.prompt, mayAsk: mayPrompt(query, body.prompt))
        while true {
            let outcome = try await unlocking(&turns) { () throws(KeychainError) in
                try await observe(for: body.accessControl)
                // All of them: the query names the one to look in, the attributes the one to move to.
                return try await services.vault.update(
                    query,
                    groups: groups.all,
                    changes: Self.changes(body),
                    authorization: try contexts.authorization(of: context)
                )
            }
            switch outcome {
            case .needsAuthentication(let controls): try await ask(for: controls, .useItem, &turns)
            case .updated(let count):
                record("update", query.itemClass, count: count)
                return count
            }
        }
    }

    /// Refuses groups that are not the caller's.
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

    /// Deletes items; needs nobody, but attributes can be compared only once the keybag was unlocked.
    func delete(_ body: DeleteItems) async throws -> Int {
        let query = body.query
        let searched = try groups.searched(by: query)
        var turns = UserTurns(context: nil, prompt: body.prompt, mayAsk: mayPrompt(query, body.prompt))
        let count = try await unlocking(&turns) { () throws(KeychainError) in
            try await services.vault.delete(query, groups: searched)
        }
        record("delete", query.itemClass, count: count)
        return count
    }

    /// Pages up to this size leave the socket's buffer at once.
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
