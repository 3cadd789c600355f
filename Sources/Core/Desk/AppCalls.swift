package import KeychainModel

/// Whose items there are: naming the program that keeps what another one looks for, listing, moving.
extension Visit {
    // MARK: Not found

    /// Whether a failed look-up may name the program that keeps such an item; costs no look at the store.
    func mayName(ownerFor query: ItemQuery?, _ error: KeychainError) -> Bool {
        guard error.status == .itemNotFound, error.cause == nil, let owners = services.owners, let query,
            Self.namesOneItem(query), let groups = try? groups
        else { return false }
        return owners.mayHaveOthers(than: groups.all)
    }

    /// The error of a look-up, with the program that keeps an item of that name as its cause.
    ///
    /// Said to the same user only, since only that user is served; nothing of the item is told but that it is there.
    func naming(ownerFor query: ItemQuery?, _ error: KeychainError) async -> KeychainError {
        guard mayName(ownerFor: query, error), let query, let owners = services.owners,
            let groups = try? groups,
            let owner = await owners.owner(of: query, outside: groups.all)
        else { return error }
        return KeychainError(error.status, cause: .owned(by: owner.name), remedy: error.remedy)
    }

    /// Whether a query names an item and not a kind of items: a password by account and service or server, a key by its
    /// tag.
    private static func namesOneItem(_ query: ItemQuery) -> Bool {
        guard query.references.isEmpty, query.attributes[.accessGroup] == nil else { return false }
        return switch query.itemClass {
        case .genericPassword: query.attributes[.account] != nil && query.attributes[.service] != nil
        case .internetPassword: query.attributes[.account] != nil && query.attributes[.server] != nil
        case .key: query.attributes[AttributeKey(rawValue: "atag")] != nil
        case .certificate, .identity, nil: false
        }
    }

    // MARK: The command's own calls

    /// The groups that hold items.
    package func apps() async throws(KeychainError) -> AppsReply {
        try await serving(.listApps) { () async throws(KeychainError) in
            let owners = try ownersForCommand()
            return AppsReply(try await owners.owners())
        }
    }

    /// Moves all items of a group to another one, all or none.
    ///
    /// The passcode is asked for each time; items that demand a finger ask for that too.
    package func move(_ body: MoveItems, request: UInt64) async throws(KeychainError) -> MoveReply {
        try await serving(.moveItems) { () async throws(KeychainError) in
            try await moveAll(body, request: request)
        }
    }

    private func moveAll(_ body: MoveItems, request: UInt64) async throws(KeychainError) -> MoveReply {
        let owners = try ownersForCommand()
        guard body.from != body.to else { throw KeychainError(.param) }
        let context = try contexts.enter(nil, request: request)
        defer { contexts.leave(context, request: request) }
        var prompts = PromptBudget(context: context, prompt: body.prompt)
        let items = try await unlocking(&prompts) { () throws(KeychainError) in
            try await owners.items(of: body.from)
        }
        guard !items.isEmpty else { throw KeychainError(.itemNotFound) }
        let there = try await owners.items(of: body.to)
        let clashes = Self.clashes(of: items, with: there)
        let outcome = MoveReply(count: items.count, names: items.map(\.name), clashes: clashes)
        guard clashes.isEmpty, !body.isDryRun else { return outcome }
        let passcode: AccessControl
        do {
            passcode = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: .devicePasscode)
        } catch {
            throw KeychainError(.internalComponent)
        }
        try await ask(for: [passcode], .useItem, &prompts)
        let query = ItemQuery(
            itemClass: nil,
            attributes: [.accessGroup: .string(body.from.name)],
            limit: .all,
            references: items.map(\.reference)
        )
        while true {
            let result = try await unlocking(&prompts) { () throws(KeychainError) in
                try await services.vault.update(
                    query,
                    groups: [body.from, body.to],
                    changes: ItemChanges(
                        attributes: [.accessGroup: .string(body.to.name)],
                        accessControl: nil,
                        data: nil
                    ),
                    authorization: try contexts.authorization(of: context)
                )
            }
            switch result {
            case .needsAuthentication(let controls): try await ask(for: controls, .useItem, &prompts)
            case .updated(let count):
                let detail = "move \(count) from \(body.from.name) to \(body.to.name)"
                services.audit.record(AuditEvent(.itemsMoved, caller: caller, detail: detail))
                return MoveReply(count: count, names: items.map(\.name), clashes: [])
            }
        }
    }

    /// What is in both groups under one name.
    private static func clashes(of items: [OwnedItem], with there: [OwnedItem]) -> [String] {
        items.filter { item in
            there.contains { $0.itemClass == item.itemClass && $0.primaryKey == item.primaryKey }
        }.map(\.name)
    }

    /// The items' owners, for the daemon's own command: no other program is told whose items there are.
    private func ownersForCommand() throws(KeychainError) -> any ItemOwners {
        guard try groups.own.name == ClientIdentity.ownGroup else {
            throw KeychainError(.missingEntitlement)
        }
        guard let owners = services.owners else { throw KeychainError(.unimplemented) }
        return owners
    }
}
