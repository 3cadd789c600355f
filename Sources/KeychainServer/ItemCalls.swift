import KeychainModel
import SecretMemory

/// Item calls: unlock where that is what is missing, ask the user where an item demands it, run again.
extension RequestHandler {
    /// Adds an item and answers with what it was asked to return.
    func add(_ body: consuming AddItem, head: ReplyHead, reply: Reply) async throws {
        let group = try groups.named(in: body.attributes) ?? groups.own
        let attributes = body.attributes.filter { $0.key != .accessGroup }
        let (itemClass, accessControl, prompt) = (body.itemClass, body.accessControl, body.prompt)
        let context = try contexts.enter(body.context, request: head.id)
        defer { contexts.leave(context, request: head.id) }
        var rounds = 0
        while true {
            let item = NewItem(
                itemClass: itemClass,
                attributes: attributes,
                accessControl: accessControl,
                data: Self.copy(body.data),
                returns: body.returns,
                applicationPassword: try contexts.authorization(of: context).applicationPassword
            )
            do {
                let items = try await services.vault.add(item, group: group)
                record("add", itemClass, count: 1)
                return try reply(ItemsReply.message(head: head, items: items))
            } catch  where isLocked(error) && prompt.interactionAllowed {
                try countRound(&rounds)
            } catch {
                throw named(error, adding: accessControl)
            }
            do throws(KeychainError) {
                try await unlock(for: context, prompt: prompt)
            } catch {
                throw named(error, adding: accessControl)
            }
        }
    }

    /// Looks items up and answers page after page.
    func copy(_ body: CopyItems, head: ReplyHead, reply: Reply) async throws {
        let query = body.query
        let searched = try groups.searched(by: query)
        let context = try contexts.enter(body.context, request: head.id)
        defer { contexts.leave(context, request: head.id) }
        var cursor: ItemCursor?
        var rounds = 0
        var total = 0
        while true {
            guard !Task.isCancelled else { throw AuthenticationError(.appCancel) }
            // Given back before the reply is sent unless there is much to send: a slow reader holds up few.
            var room: LockedMemoryBudget.Reservation?
            if query.returns.contains(.data) {
                room = await budget.reserveWhenFree(LockedMemoryBudget.pageCost)
            }
            let outcome: CopyOutcome
            do {
                outcome = try await services.vault.copy(
                    query,
                    groups: searched,
                    authorization: try contexts.authorization(of: context),
                    after: cursor
                )
            } catch  where needsUnlock(error, query, body.prompt) {
                room = nil
                try countRound(&rounds)
                try await unlock(for: context, prompt: body.prompt)
                continue
            } catch {
                throw named(error)
            }
            switch consume outcome {
            case .needsAuthentication(let controls):
                room = nil
                try countRound(&rounds)
                try await ask(for: controls, query, in: context, prompt: body.prompt)
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
        let (query, attributes) = (body.query, body.attributes)
        for named in [query.attributes, attributes] { _ = try groups.named(in: named) }
        let (accessControl, prompt) = (body.accessControl, body.prompt)
        let context = try contexts.enter(body.context, request: request)
        defer { contexts.leave(context, request: request) }
        var rounds = 0
        while true {
            guard !Task.isCancelled else { throw AuthenticationError(.appCancel) }
            let changes = ItemChanges(
                attributes: attributes,
                accessControl: accessControl,
                data: Self.copy(body.data)
            )
            let outcome: UpdateOutcome
            do {
                // All of them: the query names the one to look in, the attributes the one to move to.
                outcome = try await services.vault.update(
                    query,
                    groups: groups.all,
                    changes: changes,
                    authorization: try contexts.authorization(of: context)
                )
            } catch  where needsUnlock(error, query, prompt) {
                try countRound(&rounds)
                try await unlock(for: context, prompt: prompt)
                continue
            } catch {
                throw named(error)
            }
            switch outcome {
            case .needsAuthentication(let controls):
                try countRound(&rounds)
                try await ask(for: controls, query, in: context, prompt: prompt)
            case .updated(let count):
                record("update", query.itemClass, count: count)
                return count
            }
        }
    }

    /// Deletes items; needs nobody, but attributes can be compared only once the keybag was unlocked.
    func delete(_ body: DeleteItems) async throws -> Int {
        let query = body.query
        let searched = try groups.searched(by: query)
        var rounds = 0
        while true {
            do {
                let count = try await services.vault.delete(query, groups: searched)
                record("delete", query.itemClass, count: count)
                return count
            } catch  where needsUnlock(error, query, body.prompt) {
                try countRound(&rounds)
            } catch {
                throw named(error)
            }
            try await unlock(for: nil, prompt: body.prompt)
        }
    }

    /// Pages up to this size leave the socket's buffer at once.
    private static let smallPage = 1 << 16

    private static func copy(_ data: borrowing SecretBytes?) -> SecretBytes? {
        switch data {
        case .some(let data): data.copy()
        case .none: nil
        }
    }

    /// Asks for those access controls that the context cannot show yet.
    private func ask(
        for controls: [AccessControl],
        _ query: ItemQuery,
        in context: ContextID,
        prompt: PromptFields
    ) async throws(KeychainError) {
        guard mayPrompt(query, prompt) else { throw KeychainError(AuthenticationError(.notInteractive)) }
        var hasAsked = false
        for control in controls {
            let proofs = try contexts.authorization(of: context).proofs
            switch control.decide(given: proofs, operation: .useItem) {
            case .granted: continue
            case .denied(let error): throw KeychainError(error)
            case .needs: break
            }
            _ = try await authenticate(.accessControl(control, .useItem), in: context, prompt: prompt)
            hasAsked = true
        }
        // The vault wants more than the user can show, for example another application password.
        guard hasAsked else { throw KeychainError(.authFailed) }
    }

    private func countRound(_ rounds: inout Int) throws(KeychainError) {
        rounds += 1
        guard rounds <= limits.authenticationRounds else { throw KeychainError(.authFailed) }
    }

    private func mayPrompt(_ query: ItemQuery, _ prompt: PromptFields) -> Bool {
        query.authenticationUI == .allow && prompt.interactionAllowed
    }

    private func needsUnlock(_ error: any Error, _ query: ItemQuery, _ prompt: PromptFields) -> Bool {
        isLocked(error) && mayPrompt(query, prompt)
    }

    private func isLocked(_ error: any Error) -> Bool {
        guard let error = error as? KeychainError else { return false }
        return error.status == .interactionNotAllowed && error.cause == .locked
    }

    /// Before set-up every item call has the same answer, but for one (`keychain.md`, rule 5).
    private func named(_ error: any Error, adding accessControl: AccessControl? = nil) -> any Error {
        guard let error = error as? KeychainError, error.cause == .notSetUp else { return error }
        guard accessControl?.accessibility == .whenPasscodeSetThisDeviceOnly else { return Self.notSetUp }
        return KeychainError(.authFailed, authentication: Self.notSetUp.authentication, remedy: .setPasscode)
    }

    private func record(_ verb: StaticString, _ itemClass: ItemClass?, count: Int) {
        let detail = "\(verb) \(itemClass?.rawValue ?? "any") \(count)"
        services.audit.record(AuditEvent(.itemAccessed, caller: caller, detail: detail))
    }
}
