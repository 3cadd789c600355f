/// Which programs' groups the items belong to.
///
/// Every call that throws does so with the cause ``DriverCause/locked`` when a key is not in memory.
public protocol ItemOwners: Sendable {
    /// Whether another group than these may hold items, as far as is known without a look at the store.
    func mayHaveOthers(than groups: [AccessGroup]) -> Bool

    /// The program outside `groups` in whose own group an item has the primary attributes that `query` names.
    ///
    /// Only groups named by a program's path count. Nil where there is none, or it cannot be told.
    func owner(of query: ItemQuery, outside groups: [AccessGroup]) async -> AccessGroup?

    /// All groups that hold items, by name.
    func owners() async throws(KeychainError) -> [ItemOwner]

    /// The items of a group.
    func items(of group: AccessGroup) async throws(KeychainError) -> [OwnedItem]
}

/// A group and what it keeps.
public struct ItemOwner: Sendable, Equatable {
    /// The group: a program's path, or a name.
    public let group: AccessGroup
    /// How many items of each class.
    public var counts: [ItemClass: Int]
    /// When one of them was last added or changed, in microseconds since 1970.
    public var lastChange: Int64

    /// Describes a group.
    public init(group: AccessGroup, counts: [ItemClass: Int] = [:], lastChange: Int64 = 0) {
        self.group = group
        self.counts = counts
        self.lastChange = lastChange
    }
}

/// An item of a group, by what names it.
public struct OwnedItem: Sendable, Equatable {
    /// The item.
    public let reference: PersistentReference
    /// Its class.
    public let itemClass: ItemClass
    /// The attributes that make it unique in its group.
    public let primaryKey: ItemAttributes
    /// What a person may know it by.
    public let name: String

    /// Describes an item.
    public init(
        reference: PersistentReference,
        itemClass: ItemClass,
        primaryKey: ItemAttributes,
        name: String
    ) {
        self.reference = reference
        self.itemClass = itemClass
        self.primaryKey = primaryKey
        self.name = name
    }
}

extension DriverCause {
    /// No item was found, and a program with this path has one of that name.
    public static func owned(by program: String) -> DriverCause {
        DriverCause(.owned, detail: program)
    }

    /// The path of the program that ``owned(by:)`` names; nil for other causes.
    public var owner: String? {
        known == .owned ? detail : nil
    }
}
