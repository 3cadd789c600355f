import CBOR
public import KeychainModel
import SecretMemory

/// Requests to add, look up, change and delete items.
extension RemoteKeychain {
    /// Stores an item.
    ///
    /// For a secret of more than a few KiB, reserve space in ``LockedRoom`` before copying it to locked memory: twice its
    /// length if it is to be returned.
    ///
    /// - Returns: the parts in the request's `returns`.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if an item with the same primary key exists.
    public func add(
        _ item: consuming AddItem,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> ItemResults {
        try item.attributes.checkLimits()
        try item.data.checkLimits()
        try item.prompt.checkLimits()
        let sink = ItemReplies(returns: item.returns, reserved: nil)
        try call(.addItem, item, replies: sink, cancellation: cancellation)
        return ItemResults(sink)
    }

    /// Looks up items, and asks the user if their access control requires it.
    ///
    /// If other requests of the process hold the locked memory that the secrets need, waits for them and repeats the
    /// request, including its prompt.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` if there is none, with `errSecAllocate` if locked memory
    ///   has no space for the secrets.
    public func copy(
        _ request: CopyItems,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> ItemResults {
        try request.query.checkLimits()
        try request.prompt.checkLimits()
        do throws(KeychainError) {
            let sink = ItemReplies(returns: request.query.returns, room: room)
            try call(.copyItems, request, replies: sink, cancellation: cancellation)
            return ItemResults(sink)
        } catch {
            guard error.cause == .noRoom else { throw error }
        }
        return try copyAlone(request, cancellation)
    }

    /// ``copy(_:cancellation:)`` after reserving the maximum locked memory of a result.
    func copyAlone(
        _ request: CopyItems,
        _ cancellation: Cancellation?
    ) throws(KeychainError) -> ItemResults {
        let whole = try room.reserve(ItemReplies.mostLocked, cancellation: cancellation)
        let sink = ItemReplies(returns: request.query.returns, reserved: whole)
        try call(.copyItems, request, replies: sink, cancellation: cancellation)
        return ItemResults(sink)
    }

    /// Changes all items that match, atomically.
    ///
    /// - Returns: the number of items.
    @discardableResult
    public func update(
        _ request: consuming UpdateItems,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Int {
        try request.query.checkLimits()
        try request.attributes.checkLimits()
        try request.data.checkLimits()
        try request.prompt.checkLimits()
        return try call(.updateItems, request, reply: CountBody.self, cancellation: cancellation).count
    }

    /// Stores an item in place of all that match, atomically and without reading them; needs no authentication for those.
    ///
    /// - Throws: ``KeychainError`` as ``add(_:cancellation:)``; nothing was changed then.
    @discardableResult
    public func replace(
        _ request: consuming ReplaceItem,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Replacement {
        try request.query.checkLimits()
        try request.attributes.checkLimits()
        try request.data.checkLimits()
        try request.prompt.checkLimits()
        guard request.data.octetCount + request.mark.octetCount <= ItemLimits.longestData else {
            throw KeychainError(.dataTooLarge)
        }
        return try call(.replaceItem, request, reply: Replacement.self, cancellation: cancellation)
    }

    /// Deletes the items that match and have the given secret, atomically and without reading them.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` if none matches.
    public func erase(
        _ request: consuming EraseItems,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Erasure {
        try request.query.checkLimits()
        try request.prompt.checkLimits()
        guard request.secret.count <= ItemLimits.longestData else { throw KeychainError(.dataTooLarge) }
        return try call(.eraseItems, request, reply: Erasure.self, cancellation: cancellation)
    }

    /// Deletes all items that match, atomically.
    ///
    /// - Returns: the number of items, and whether hardware counted the deletion.
    @discardableResult
    public func delete(
        _ request: DeleteItems,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> DeletedItems {
        try request.query.checkLimits()
        try request.prompt.checkLimits()
        return try call(.deleteItems, request, reply: DeletedItems.self, cancellation: cancellation)
    }
}
