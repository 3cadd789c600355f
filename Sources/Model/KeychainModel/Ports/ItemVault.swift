public import SecretMemory

/// Stores items, sealed; releases one only for what its access control demands.
///
/// Every call throws ``KeychainError`` with `errSecInteractionNotAllowed` and the cause
/// ``DriverCause/locked`` when a key is not in memory.
public protocol ItemVault: Sendable {
    /// Stores a new item durably.
    ///
    /// - Returns: the item in the form its `returns` asks for; the data only if it was asked for.
    /// - Throws: `errSecDuplicateItem` when the primary key is taken.
    func add(_ item: consuming NewItem, group: AccessGroup) async throws(KeychainError) -> EncodedItems

    /// Finds items of these groups and opens those that the authorisation is enough for.
    ///
    /// - Parameters:
    ///   - query: which items, how many, and what of each.
    ///   - groups: the groups that the caller sees.
    ///   - authorization: what the caller has shown.
    ///   - cursor: nil for the first page, then ``EncodedItems/next``.
    /// - Returns: a page of items, or what the user must show first.
    /// - Throws: `errSecItemNotFound` when there are none; `errSecDecode` for an item that is not authentic.
    func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) async throws(KeychainError) -> CopyOutcome

    /// The first page of ``copy(_:groups:authorization:after:)`` on the caller's own thread, where nothing has to be
    /// waited for.
    ///
    /// - Returns: nil where something has, or where `copy` must judge; nothing was done then.
    /// - Throws: `errSecItemNotFound` when there are none.
    func copyAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) throws(KeychainError) -> EncodedItems?

    /// Changes all items that match, all or none.
    func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> UpdateOutcome

    /// Deletes all items that match, all or none; needs no authentication.
    ///
    /// - Returns: how many there were.
    func delete(_ query: ItemQuery, groups: [AccessGroup]) async throws(KeychainError) -> Int

    /// ``add(_:group:)`` on the caller's own thread, where nothing has to be waited for but other changes.
    ///
    /// - Returns: nil where something has; nothing was done then.
    func addAtOnce(_ item: consuming NewItem, group: AccessGroup) throws(KeychainError) -> EncodedItems?

    /// ``update(_:groups:changes:authorization:)`` on the caller's own thread, where nothing has to be waited for.
    ///
    /// - Returns: how many items were changed; nil where something or the user has to be waited for, and nothing was
    ///   done.
    func updateAtOnce(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) throws(KeychainError) -> Int?

    /// ``delete(_:groups:)`` on the caller's own thread, where nothing has to be waited for.
    ///
    /// - Returns: nil where something has; nothing was done then.
    func deleteAtOnce(_ query: ItemQuery, groups: [AccessGroup]) throws(KeychainError) -> Int?

    /// Reads every item and the set's digest, and reports what is not authentic.
    func check() async -> StoreReport

    /// What is known to be wrong with the items, in words, without looking for more; empty where nothing is.
    func storeFaults() async -> [String]

    /// The cause that the use of an item would be refused with; nil where ``storeFaults()`` is empty.
    func itemsFault() async -> DriverCause?

    /// Looks for what is not as it was left; with `accepting`, makes what is good of it the present state.
    ///
    /// The proof must hold the passcode.
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
    /// Its secret; empty and none are different.
    public let data: SecretBytes?
    /// What to return.
    public let returns: ItemQuery.Returns
    /// The application password, where the access control wants one.
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

/// What an update changes.
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

/// What a look-up came to.
public enum CopyOutcome: ~Copyable, Sendable {
    /// The items, or a page of them; none found is thrown as `errSecItemNotFound`.
    case items(EncodedItems)
    /// The user is needed for these access controls; then ask again.
    case needsAuthentication([AccessControl])
}

/// What an update came to.
public enum UpdateOutcome: Sendable, Equatable {
    /// So many items were changed.
    case updated(Int)
    /// The user is needed for these access controls; then ask again.
    case needsAuthentication([AccessControl])
}

/// What a check of the store found.
public struct StoreReport: Sendable, Equatable {
    /// Items that were read and are authentic.
    public var items: Int
    /// Items whose enrolled set is gone.
    public var invalidated: Int
    /// Items that are not authentic.
    public var damaged: Int
    /// Whether rows were removed, added or rolled back behind the daemon's back.
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
