import KeychainModel

/// The groups a caller may use: its program's own group first, then the granted ones.
struct EntitledGroups: Sendable {
    /// The group of items that name no group.
    let own: AccessGroup
    /// The groups that a query searches which names none, without duplicates, its own first.
    let all: [AccessGroup]
    /// These, and those that a request has to name.
    let usable: [AccessGroup]
    /// These, and those of which a caller may only look up items, by a query that names the group, and use keys.
    let readable: [AccessGroup]

    init(
        own: AccessGroup,
        granted: [AccessGroup],
        onRequest: [AccessGroup] = [],
        readOnly: [AccessGroup] = []
    ) {
        self.own = own
        all = [own] + granted.filter { $0 != own }
        usable = all + onRequest
        readable = usable + readOnly.filter { !onRequest.contains($0) }
    }

    /// The group that attributes name; nil if they name none.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not use.
    func named(in attributes: ItemAttributes) throws(KeychainError) -> AccessGroup? {
        try Self.named(in: attributes, of: usable)
    }

    private static func named(
        in attributes: ItemAttributes,
        of groups: [AccessGroup]
    ) throws(KeychainError) -> AccessGroup? {
        guard let value = attributes[.accessGroup] else { return nil }
        guard case .string(let name) = value, let group = AccessGroup(name), groups.contains(group) else {
            throw KeychainError(.missingEntitlement)
        }
        return group
    }

    /// The group of an item with these attributes: the one they name, otherwise the program's own.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not use.
    func target(of attributes: ItemAttributes) throws(KeychainError) -> AccessGroup {
        try named(in: attributes) ?? own
    }

    /// The group that a request names, otherwise the program's own.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not use.
    func own(or named: AccessGroup?) throws(KeychainError) -> AccessGroup {
        guard let named else { return own }
        guard usable.contains(named) else { throw KeychainError(.missingEntitlement) }
        return named
    }

    /// The groups that a query searches: the one it names, otherwise all.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not use.
    func searched(by query: ItemQuery) throws(KeychainError) -> [AccessGroup] {
        try named(in: query.attributes).map { [$0] } ?? all
    }

    /// The groups that a query reads: the one it names, which may be one that is only readable, otherwise all.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that the caller may not read.
    func read(by query: ItemQuery) throws(KeychainError) -> [AccessGroup] {
        try Self.named(in: query.attributes, of: readable).map { [$0] } ?? all
    }
}
