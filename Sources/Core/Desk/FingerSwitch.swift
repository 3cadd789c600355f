package import KeychainModel

/// The programs for which the user switched fingers off: for each an item of the command, without a secret.
///
/// Programs of one user can impersonate each other in per-user mode, so this is the user's choice for programs that do not lie.
extension Visit {
    /// Whether the user lets the calling program use fingers.
    ///
    /// Before the first unlock the items cannot be read, but no finger counts then either. If they are damaged, only the passcode
    /// counts; so it does for a program that could not be looked up while any program may use no fingers.
    var allowsFingers: Bool {
        do throws(KeychainError) {
            return try !isSwitchedOff((try? groups)?.own)
        } catch {
            return error.cause == .locked || error.cause == .notSetUp
        }
    }

    /// Lets a program use fingers from now on, which takes the passcode, or not.
    package func switchFingers(_ body: SwitchFingers, request: UInt64) async throws(KeychainError) {
        try await serving(.switchFingers) { () async throws(KeychainError) in
            try requireCommand()
            let context = try contexts.enter(nil, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, request: request, prompt: body.prompt)
            let isOff = try await unlocking(&prompts) { () throws(KeychainError) in
                try isSwitchedOff(body.group)
            }
            guard isOff == body.isAllowed else { return }
            if body.isAllowed { try await askPasscode(&prompts) }
            try await setFingerSwitch(of: body.group, isOff: !body.isAllowed, &prompts)
            let detail = "\(body.isAllowed ? "on" : "off") \(body.group.name)"
            services.audit.record(AuditEvent(.fingersSwitched, caller: caller, detail: detail))
        }
    }

    /// Adds to the owners of items which of them may use no fingers, and the programs that have no items.
    func withFingers(
        _ found: [ItemOwner],
        _ owners: any ItemOwners
    ) async throws(KeychainError) -> [ItemOwner] {
        var all = Dictionary(uniqueKeysWithValues: found.map { ($0.group, $0) })
        for item in try await owners.items(of: try groups.own) {
            guard let group = SettingItems.fingersOff.account(of: item).flatMap({ AccessGroup($0) }) else {
                continue
            }
            all[group, default: ItemOwner(group: group)].allowsFingers = false
        }
        return all.values.sorted { $0.group.name < $1.group.name }
    }

    /// The program's new group may use no fingers if the former one might not.
    func moveFingerSwitch(
        from: AccessGroup,
        to: AccessGroup,
        _ prompts: inout PromptBudget
    ) async throws(KeychainError) {
        guard try isSwitchedOff(from) else { return }
        if try !isSwitchedOff(to) { try await setFingerSwitch(of: to, isOff: true, &prompts) }
        try await setFingerSwitch(of: from, isOff: false, &prompts)
    }

    private func setFingerSwitch(
        of group: AccessGroup,
        isOff: Bool,
        _ prompts: inout PromptBudget
    ) async throws(KeychainError) {
        let own = try groups.own
        guard isOff else {
            _ = try await calling(&prompts) { _ throws(KeychainError) in
                try services.vault.delete(SettingItems.fingersOff.query(group.name), groups: [own])
            }
            return
        }
        _ = try await calling(&prompts) { authorization throws(KeychainError) in
            let item = SettingItems.fingersOff.item(group.name, .afterFirstUnlock)
            return try services.vault.add(item, group: own, authorization: authorization)
        }
    }

    /// Whether fingers are switched off for a program, or for any if it is unknown.
    private func isSwitchedOff(_ group: AccessGroup?) throws(KeychainError) -> Bool {
        guard let owners = services.owners, let own = AccessGroup(ClientIdentity.ownGroup) else {
            return false
        }
        return try owners.has(SettingItems.fingersOff.query(group?.name), in: own)
    }
}
