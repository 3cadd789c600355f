/// The programs whose groups the items belong to.
///
/// Every throwing call throws with the cause ``DriverCause/locked`` if a key is not in memory.
public protocol ItemOwners: Sendable {
    /// Whether another group than these may have items, as far as is known without reading the store.
    func mayHaveOthers(than groups: [AccessGroup]) -> Bool

    /// The program outside `groups` in whose own group an item has the primary attributes of `query`.
    ///
    /// Only groups named by a program's path count. Nil if there is none, or it cannot be determined.
    func owner(of query: ItemQuery, outside groups: [AccessGroup]) async -> AccessGroup?

    /// All groups that have items, by name.
    func owners() async throws(KeychainError) -> [ItemOwner]

    /// Whether a group has an item that a query finds.
    func has(_ query: ItemQuery, in group: AccessGroup) throws(KeychainError) -> Bool

    /// The items of a group.
    func items(of group: AccessGroup) async throws(KeychainError) -> [OwnedItem]
}

/// A group with its number of items.
public struct ItemOwner: Sendable, Equatable {
    /// The group: a program's path, or a name.
    public let group: AccessGroup
    /// The number of items of each class.
    public var counts: [ItemClass: Int]
    /// When one of its items was last added or changed, in microseconds since 1970.
    public var lastChange: Int64
    /// Whether the user lets the program use fingers; set by the desk.
    public var allowsFingers = true

    /// Describes a group.
    public init(group: AccessGroup, counts: [ItemClass: Int] = [:], lastChange: Int64 = 0) {
        self.group = group
        self.counts = counts
        self.lastChange = lastChange
    }
}

/// An item of a group, with the attributes that identify it.
public struct OwnedItem: Sendable, Equatable {
    /// The item's reference.
    public let reference: PersistentReference
    /// Its class.
    public let itemClass: ItemClass
    /// The attributes that make it unique in its group.
    public let primaryKey: ItemAttributes
    /// A name by which a user may recognise it.
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
    /// No item was found, but a program with this path has one with these attributes.
    public static func owned(by program: String) -> DriverCause {
        DriverCause(.owned, detail: program)
    }

    /// The program's path in ``owned(by:)``; nil for other causes.
    public var owner: String? {
        known == .owned ? detail : nil
    }
}
