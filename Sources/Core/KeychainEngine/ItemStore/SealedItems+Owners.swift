public import KeychainModel
internal import Primitives

/// The owners of items: which access groups have items.
extension SealedItems: ItemOwners {
    /// The rows read before other requests get their turn: about a millisecond.
    private static let rowsAtOnce = 128
    /// The most groups that one statement searches.
    private static let groupsAtOnce = 32

    /// Whether groups other than these may have items, as far as known without reading the store.
    public func mayHaveOthers(than groups: [AccessGroup]) -> Bool {
        !knownGroups.isComplete || !knownGroups.programs(outside: groups).isEmpty
    }

    /// The program outside `groups` whose own group has an item with the primary attributes of `query`.
    ///
    /// To learn the groups, all items are read once after the daemon's start, in small steps; afterwards a group costs
    /// one index look-up, and at most 256 groups are searched.
    public func owner(of query: ItemQuery, outside groups: [AccessGroup]) async -> AccessGroup? {
        do throws(KeychainError) {
            if !knownGroups.isComplete {
                try await forEachItem { header in knownGroups.note(header.groupName) }
                knownGroups.complete()
            }
            guard let itemClass = query.itemClass else { return nil }
            let primary = PrimaryKey.attributes(of: itemClass)
            let search = ItemQuery(
                itemClass: itemClass,
                attributes: query.attributes.filter { primary.contains($0.key) && $0.key != .accessGroup }
            )
            var programs = knownGroups.programs(outside: groups)[...]
            while !programs.isEmpty {
                let some = programs.prefix(Self.groupsAtOnce).compactMap { AccessGroup($0) }
                programs = programs.dropFirst(Self.groupsAtOnce)
                if let owner = try firstOwner(of: search, in: some) { return owner }
            }
            return nil
        } catch {
            // Return the look-up's own error unchanged.
            return nil
        }
    }

    private func firstOwner(of query: ItemQuery, in groups: [AccessGroup]) throws(KeychainError)
        -> AccessGroup?
    {
        try withState { (state) throws(KeychainError) in
            let context = try keys.context()
            let store = try usableStore(&state, context)
            try store.readWholeSet(context)
            let search = try ItemSearch(query, groups: groups, in: context)
            var name: String?
            try ItemDatabase.translatingErrors {
                try ItemRow.forEach(
                    store.database,
                    search.source,
                    hasData: false,
                    after: 0,
                    tags: store.itemSet.tags
                ) {
                    row in
                    try row.open(in: context) { header in
                        if search.matches(header) { name = header.groupName }
                    }
                    return name == nil
                }
            }
            return name.flatMap { AccessGroup($0) }
        }
    }

    /// All groups that have items, by name.
    public func owners() async throws(KeychainError) -> [ItemOwner] {
        var owners: [String: ItemOwner] = [:]
        try await forEachItem { header in
            let name = header.groupName
            guard let group = AccessGroup(name) else { return }
            let content = try ItemContent(header)
            var owner = owners[name] ?? ItemOwner(group: group)
            owner.counts[content.itemClass, default: 0] += 1
            owner.lastChange = max(owner.lastChange, content.modified)
            owners[name] = owner
        }
        return owners.values.sorted { $0.group.name < $1.group.name }
    }

    /// Whether a group has an item that a query finds.
    public func has(_ query: ItemQuery, in group: AccessGroup) throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            _ = try copy(query, groups: [group], authorization: ItemAuthorization(), after: nil)
            return true
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return false
        }
    }

    /// The items of a group.
    public func items(of group: AccessGroup) async throws(KeychainError) -> [OwnedItem] {
        knownGroups.note(group.name)
        var items: [OwnedItem] = []
        try await forEachItem(in: group) { epoch, row, header in
            let content = try ItemContent(header)
            // An invalidated item stays in its group.
            guard header.accessControl(atEpoch: epoch) != nil,
                let reference = PersistentReference(octets: unsafe Array(row.reference))
            else { return }
            var primaryKey: ItemAttributes = [:]
            for key in PrimaryKey.attributes(of: content.itemClass) where key != .accessGroup {
                if let value = content.attributes[key], !value.isBlank { primaryKey[key] = value }
            }
            items.append(
                OwnedItem(
                    reference: reference,
                    itemClass: content.itemClass,
                    primaryKey: primaryKey,
                    name: content.name
                )
            )
        }
        return items
    }

    private func forEachItem(_ body: (OpenedHeader) throws -> Void) async throws(KeychainError) {
        try await forEachItem(in: nil) { _, _, header in try body(header) }
    }

    /// Opens the attributes of all items, of one group or of all groups, with the number of the present enrolled set;
    /// damaged rows are left to ``check()``.
    private func forEachItem(
        in group: AccessGroup?,
        _ body: (_ epoch: UInt64, ItemRow, OpenedHeader) throws -> Void
    ) async throws(KeychainError) {
        var last: Int64? = .min
        while let row = last {
            last = try withState { (state) throws(KeychainError) in
                let context = try keys.context()
                let store = try usableStore(&state, context)
                return try ItemDatabase.translatingErrors {
                    try ItemRow.forEach(store.database, after: row, atMost: Self.rowsAtOnce) { row in
                        guard let row else { return }
                        do {
                            try row.open(in: context) { header in
                                guard group == nil || header.groupName == group?.name else { return }
                                try body(context.epoch, row, header)
                            }
                        } catch is AEAD.NotAuthentic {}
                    }
                }
            }
            await Task.yield()
        }
    }
}

extension OpenedHeader {
    /// The name of the item's access group.
    var groupName: String { unsafe String(decoding: group, as: UTF8.self) }
}
