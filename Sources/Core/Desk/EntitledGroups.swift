import KeychainModel

/// The groups that a caller may use: its program's own, then those that it was granted.
struct EntitledGroups: Sendable {
    /// Where items go that name no group.
    let own: AccessGroup
    /// All of them, each once, its own first.
    let all: [AccessGroup]

    init(own: AccessGroup, granted: [AccessGroup]) {
        self.own = own
        all = [own] + granted.filter { $0 != own }
    }

    /// The group that attributes name; nil when they name none.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that is not the caller's.
    func named(in attributes: ItemAttributes) throws(KeychainError) -> AccessGroup? {
        guard let value = attributes[.accessGroup] else { return nil }
        guard case .string(let name) = value, let group = AccessGroup(name) else {
            throw KeychainError(.missingEntitlement)
        }
        return try own(or: group)
    }

    /// The group that an item with these attributes goes to: the one they name, else its program's own.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that is not the caller's.
    func target(of attributes: ItemAttributes) throws(KeychainError) -> AccessGroup {
        try named(in: attributes) ?? own
    }

    /// The group that a request names; its program's own where it names none.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that is not the caller's.
    func own(or named: AccessGroup?) throws(KeychainError) -> AccessGroup {
        guard let named else { return own }
        guard all.contains(named) else { throw KeychainError(.missingEntitlement) }
        return named
    }

    /// The groups that a query looks into: the one it names, else all.
    ///
    /// - Throws: `errSecMissingEntitlement` for a group that is not the caller's.
    func searched(by query: ItemQuery) throws(KeychainError) -> [AccessGroup] {
        try named(in: query.attributes).map { [$0] } ?? all
    }
}
