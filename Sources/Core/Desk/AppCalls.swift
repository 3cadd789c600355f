package import KeychainModel

/// The owners of items: names the program that has an item another one looks for, lists groups, moves items.
extension Visit {
    // MARK: Not found

    /// Adds to a look-up's error the program that has an item of that name, as its cause.
    ///
    /// Reveals only that the item exists, and only to the same user, since no other user is served.
    func naming(ownerFor query: ItemQuery?, _ error: KeychainError) async -> KeychainError {
        guard error.status == .itemNotFound, error.cause == nil, let query, Self.namesOneItem(query),
            let owners = services.owners, let groups = try? groups.all, owners.mayHaveOthers(than: groups),
            let owner = await owners.owner(of: query, outside: groups)
        else { return error }
        return KeychainError(error.status, cause: .owned(by: owner.name), remedy: error.remedy)
    }

    /// Whether a query identifies an item, not a kind of items: a password by account and service or server, a key by its
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

    /// The groups that have items.
    package func apps() async throws(KeychainError) -> AppsReply {
        try await serving(.listApps) { () async throws(KeychainError) in
            let owners = try ownersForCommand()
            let all = try await owners.owners().filter { $0.group != .reads }
            return AppsReply(try await withFingers(all, owners))
        }
    }

    /// Moves all items of a group to another group, all or none.
    ///
    /// Asks for the passcode each time; items that need a finger ask for that too.
    package func move(_ body: MoveItems, request: UInt64) async throws(KeychainError) -> MoveReply {
        try await serving(.moveItems) { () async throws(KeychainError) in
            try await moveAll(body, request: request)
        }
    }

    private func moveAll(_ body: MoveItems, request: UInt64) async throws(KeychainError) -> MoveReply {
        let owners = try ownersForCommand()
        guard body.from != body.to, ![body.from, body.to].contains(.reads) else {
            throw KeychainError(.param)
        }
        let context = try contexts.enter(nil, request: request)
        defer { contexts.leave(context, request: request) }
        var prompts = PromptBudget(context: context, request: request, prompt: body.prompt)
        let items = try await unlocking(&prompts) { () async throws(KeychainError) in
            try await owners.items(of: body.from)
        }.filter { body.from.name != ClientIdentity.ownGroup || !SettingItems.contain($0) }
        guard !items.isEmpty else { throw KeychainError(.itemNotFound) }
        let there = try await owners.items(of: body.to)
        let clashes = Self.clashes(of: items, with: there)
        let outcome = MoveReply(count: items.count, names: items.map(\.name), clashes: clashes)
        guard clashes.isEmpty, !body.isDryRun else { return outcome }
        try await askPasscode(&prompts)
        let query = ItemQuery(
            itemClass: nil,
            attributes: [.accessGroup: .string(body.from.name)],
            limit: .all,
            references: items.map(\.reference)
        )
        let count = try await calling(&prompts) { (authorization) throws(KeychainError) in
            try services.vault.update(
                query,
                groups: [body.from, body.to],
                changes: ItemChanges(
                    attributes: [.accessGroup: .string(body.to.name)],
                    accessControl: nil,
                    data: nil
                ),
                authorization: authorization
            )
        }
        desk.watchers.tellItems(in: [body.from, body.to])
        try await moveFingerSwitch(from: body.from, to: body.to, &prompts)
        let detail = "move \(count) from \(body.from.name) to \(body.to.name)"
        services.audit.record(AuditEvent(.itemsMoved, caller: caller, detail: detail))
        return MoveReply(count: count, names: items.map(\.name), clashes: [])
    }

    /// Asks for the passcode, unless it was typed in the context of this call.
    func askPasscode(_ prompts: inout PromptBudget) async throws(KeychainError) {
        let passcode: AccessControl
        do {
            passcode = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: .devicePasscode)
        } catch {
            throw KeychainError(.internalComponent)
        }
        try await ask(for: [passcode], .useItem, &prompts)
    }

    /// The names of items that exist in both groups.
    private static func clashes(of items: [OwnedItem], with there: [OwnedItem]) -> [String] {
        items.filter { item in
            there.contains { $0.itemClass == item.itemClass && $0.primaryKey == item.primaryKey }
        }.map(\.name)
    }

    /// The items' owners, for the daemon's own command only: other programs may not list them.
    private func ownersForCommand() throws(KeychainError) -> any ItemOwners {
        try requireCommand()
        guard let owners = services.owners else { throw KeychainError(.unimplemented) }
        return owners
    }

    /// Refuses other programs than the daemon's own command.
    func requireCommand() throws(KeychainError) {
        guard try groups.own.name == ClientIdentity.ownGroup else {
            throw KeychainError(.missingEntitlement)
        }
    }

    /// Whether the caller is the daemon's own command.
    var isCommand: Bool { (try? requireCommand()) != nil }
}
