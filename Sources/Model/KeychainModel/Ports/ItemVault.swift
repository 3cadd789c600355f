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

    /// Derives an application password's key, for ``ItemAuthorization/passwordKey``.
    func key(of password: ApplicationPassword) async throws(KeychainError) -> PasswordKey

    /// Advances the hardware's counter after the changes so far; a failure is logged, and retried with the next change.
    func settle() async

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

/// The changes of an update.
public struct ItemChanges: ~Copyable, Sendable {
    /// Attributes to set.
    public let attributes: ItemAttributes
    /// A new access control; nil leaves the old one.
    public let accessControl: AccessControl?
    /// A new secret; nil leaves the old one.
    public let data: SecretBytes?

    /// Describes changes.
    public init(attributes: ItemAttributes, accessControl: AccessControl?, data: consuming SecretBytes?) {
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
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
