public import SecretMemory

/// Stores sealed items; releases one only if its access control is satisfied.
///
/// The calls about items run on the calling thread and wait for nothing but each other and the disk: if the user, a
/// derived key or hardware is needed, the ``VaultOutcome`` says so, and its reader provides that and calls again.
///
/// Every call throws ``KeychainError`` with `errSecInteractionNotAllowed` and the cause ``DriverCause/locked`` if a
/// key is not in memory.
public protocol ItemVault: Sendable {
    /// Stores a new item durably.
    ///
    /// - Returns: the item in the form that its `returns` selects; the data only if requested.
    /// - Throws: `errSecDuplicateItem` if an item with this primary key exists.
    func add(
        _ item: borrowing NewItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<EncodedItems>

    /// Finds items of these groups and opens those that the authorisation covers.
    ///
    /// - Parameters:
    ///   - query: which items, how many, and which parts of each.
    ///   - groups: the groups visible to the caller.
    ///   - authorization: the caller's proofs and application password.
    ///   - cursor: nil for the first page, then ``EncodedItems/next``.
    /// - Returns: a page of items; never ``VaultOutcome/needsHardware(_:)``.
    /// - Throws: `errSecItemNotFound` if no item matches; `errSecDecode` for an item that is not authentic.
    func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) throws(KeychainError) -> VaultOutcome<EncodedItems>

    /// Changes all matching items or none.
    ///
    /// - Returns: the number of changed items.
    func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Int>

    /// Deletes all matching items or none; needs no authentication.
    ///
    /// - Returns: the number of deleted items.
    func delete(_ query: ItemQuery, groups: [AccessGroup]) throws(KeychainError) -> VaultOutcome<Int>

    /// Stores an item in place of all that match, or as a new one, durably and in one commit; opens none of them.
    ///
    /// Needs no authentication, as deleting them and adding the item needs none. All refusals come before a change: it is done as
    /// a whole or not at all. A match of the same class and group keeps its reference and its creation date.
    ///
    /// - Parameters:
    ///   - query: which items are replaced.
    ///   - groups: the groups that are searched for them.
    ///   - new: the item.
    ///   - group: the new item's group.
    ///   - authorization: has the application password that the new item's access control may need.
    /// - Returns: what was done.
    /// - Throws: `errSecDuplicateItem` if an item that does not match has this primary key.
    func replace(
        _ query: ItemQuery,
        groups: [AccessGroup],
        with new: consuming ReplacingItem,
        group: AccessGroup,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> VaultOutcome<Replacement>

    /// Deletes the matching items whose mark or secret is `secret`, in one commit; opens none, and needs no authentication.
    ///
    /// - Returns: how many were deleted, have another secret, or cannot be compared.
    /// - Throws: `errSecItemNotFound` if no item matches `query`.
    func erase(
        _ query: ItemQuery,
        groups: [AccessGroup],
        secret: consuming SecretBytes
    ) throws(KeychainError) -> VaultOutcome<Erasure>

    /// Derives an application password's key, for ``ItemAuthorization/passwordKey``.
    func key(of password: ApplicationPassword) async throws(KeychainError) -> PasswordKey

    /// Advances the hardware's counter after the changes so far; a failure is logged, and tried again until it succeeds.
    ///
    /// - Returns: whether the hardware counted all changes so far.
    @discardableResult
    func settle() async -> Bool

    /// Reads every item and the set's digest, and reports those that are not authentic.
    func check() -> StoreReport

    /// The known faults of the items, in words, without a new check; empty if there are none.
    func storeFaults() -> [String]

    /// The cause with which the use of an item would be refused; nil if ``storeFaults()`` is empty.
    func itemsFault() -> DriverCause?
}

/// An item to add.
public struct NewItem: ~Copyable, Sendable {
    /// Its class.
    public let itemClass: ItemClass
    /// Its attributes, without access group and access control.
    public let attributes: ItemAttributes
    /// When it may be read and what its user must show.
    public let accessControl: AccessControl
    /// Its secret; empty and nil are different.
    public let data: SecretBytes?
    /// The parts to return.
    public let returns: ItemQuery.Returns

    /// Describes an item to add.
    public init(
        itemClass: ItemClass,
        attributes: ItemAttributes,
        accessControl: AccessControl,
        data: consuming SecretBytes?,
        returns: ItemQuery.Returns = []
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.returns = returns
    }
}

/// An item that replaces others.
public struct ReplacingItem: ~Copyable, Sendable {
    /// The item; its `returns` is not used.
    public let item: NewItem
    /// By what it is compared later without being opened; nil for nothing.
    public let mark: SecretBytes?
    /// Whether nothing is written if the only match is the same, which only a mark shows.
    public let keepsSame: Bool

    /// Describes the item.
    public init(item: consuming NewItem, mark: consuming SecretBytes?, keepsSame: Bool) {
        self.item = item
        self.mark = mark
        self.keepsSame = keepsSame
    }
}

/// The changes of an update.
public struct ItemChanges: ~Copyable, Sendable {
    /// Attributes to set.
    public let attributes: ItemAttributes
    /// A new access control; nil leaves the old one.
    public let accessControl: AccessControl?
    /// A new secret; nil leaves the old one.
    public let data: SecretBytes?
    /// With these attributes in place of its own, each item is kept as another one, as it was before the change; nil for not.
    public let former: ItemAttributes?

    /// Describes changes.
    public init(
        attributes: ItemAttributes,
        accessControl: AccessControl?,
        data: consuming SecretBytes?,
        former: ItemAttributes? = nil
    ) {
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.former = former
    }
}

/// The result of a check of the store.
public struct StoreReport: Sendable, Equatable {
    /// Authentic items.
    public var items: Int
    /// Items whose enrolled set no longer exists.
    public var invalidated: Int
    /// Items that are not authentic.
    public var damaged: Int
    /// Whether no rows were removed, added or rolled back without the daemon.
    public var isSetAuthentic: Bool
    /// Faults of the file itself, in words.
    public var faults: [String]

    /// Reports a check.
    public init(items: Int, invalidated: Int, damaged: Int, isSetAuthentic: Bool, faults: [String]) {
        self.items = items
        self.invalidated = invalidated
        self.damaged = damaged
        self.isSetAuthentic = isSetAuthentic
        self.faults = faults
    }
}
