public import SecretMemory

/// Stores sealed items; releases one only if its access control is satisfied.
///
/// Every call throws ``KeychainError`` with `errSecInteractionNotAllowed` and the cause ``DriverCause/locked`` if a
/// key is not in memory.
public protocol ItemVault: Sendable {
    /// Stores a new item durably.
    ///
    /// - Returns: the item in the form that its `returns` selects; the data only if requested.
    /// - Throws: `errSecDuplicateItem` if an item with this primary key exists.
    func add(_ item: consuming NewItem, group: AccessGroup) async throws(KeychainError) -> EncodedItems

    /// Finds items of these groups and opens those that the authorisation covers.
    ///
    /// - Parameters:
    ///   - query: which items, how many, and which parts of each.
    ///   - groups: the groups visible to the caller.
    ///   - authorization: the caller's proofs and application password.
    ///   - cursor: nil for the first page, then ``EncodedItems/next``.
    /// - Returns: a page of items, or the access controls that the user must satisfy first.
    /// - Throws: `errSecItemNotFound` if no item matches; `errSecDecode` for an item that is not authentic.
    func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) async throws(KeychainError) -> CopyOutcome

    /// The first page of ``copy(_:groups:authorization:after:)``, synchronously on the calling thread.
    ///
    /// - Returns: nil, with nothing done, if the call would have to wait or needs `copy` to decide.
    /// - Throws: `errSecItemNotFound` if no item matches.
    func copyAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) throws(KeychainError) -> EncodedItems?

    /// Changes all matching items or none.
    func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> UpdateOutcome

    /// Deletes all matching items or none; needs no authentication.
    ///
    /// - Returns: the number of deleted items.
    func delete(_ query: ItemQuery, groups: [AccessGroup]) async throws(KeychainError) -> Int

    /// ``add(_:group:)``, synchronously on the calling thread; waits for other changes only.
    ///
    /// - Returns: nil, with nothing done, if the call would have to wait for anything else.
    func addAtOnce(_ item: consuming NewItem, group: AccessGroup) throws(KeychainError) -> EncodedItems?

    /// ``update(_:groups:changes:authorization:)``, synchronously on the calling thread.
    ///
    /// - Returns: the number of changed items; nil, with nothing done, if the call would have to wait or needs the
    ///   user.
    func updateAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> Int?

    /// ``delete(_:groups:)``, synchronously on the calling thread.
    ///
    /// - Returns: nil, with nothing done, if the call would have to wait.
    func deleteAtOnce(_ query: ItemQuery, groups: [AccessGroup]) throws(KeychainError) -> Int?

    /// Reads every item and the set's digest, and reports those that are not authentic.
    func check() async -> StoreReport

    /// The known faults of the items, in words, without a new check; empty if there are none.
    func storeFaults() async -> [String]

    /// The cause with which the use of an item would be refused; nil if ``storeFaults()`` is empty.
    func itemsFault() async -> DriverCause?

    /// Looks for items that differ from their last stored state; with `accepting`, makes the intact ones the current
    /// state.
    ///
    /// The proof must include the passcode.
    func repair(proof: AuthenticationProof, accepting: Bool) async throws(KeychainError) -> StoreRepair
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
    /// The application password, if the access control needs one.
    public let applicationPassword: ApplicationPassword?

    /// Describes an item to add.
    public init(
        itemClass: ItemClass,
        attributes: ItemAttributes,
        accessControl: AccessControl,
        data: consuming SecretBytes?,
        returns: ItemQuery.Returns = [],
        applicationPassword: ApplicationPassword? = nil
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.accessControl = accessControl
        self.data = data
        self.returns = returns
        self.applicationPassword = applicationPassword
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

/// The outcome of a look-up.
public enum CopyOutcome: ~Copyable, Sendable {
    /// The items, or a page of them; no match is thrown as `errSecItemNotFound`.
    case items(EncodedItems)
    /// The user must satisfy these access controls; then call again.
    case needsAuthentication([AccessControl])
}

/// The outcome of an update.
public enum UpdateOutcome: Sendable, Equatable {
    /// This many items were changed.
    case updated(Int)
    /// The user must satisfy these access controls; then call again.
    case needsAuthentication([AccessControl])
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
