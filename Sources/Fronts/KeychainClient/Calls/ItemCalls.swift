import CBOR
public import KeychainModel

/// Items: add, look up, change, delete.
extension RemoteKeychain {
    /// Stores an item.
    ///
    /// A secret of more than a few KiB wants room before it is put into locked memory: ``LockedRoom``, twice its length where
    /// it is to be returned.
    ///
    /// - Returns: what the request's `returns` asks for.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` when its primary key is taken.
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

    /// Looks items up, asking the user for those that demand it.
    ///
    /// Where other requests of the process hold the locked memory that the secrets need, it waits for them and asks once
    /// more, the user too.
    ///
    /// - Throws: ``KeychainError`` with `errSecItemNotFound` when there is none, with `errSecAllocate` when the secrets
    ///   have no room in locked memory.
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

    /// ``copy(_:cancellation:)`` once all the room that a result may take is free.
    func copyAlone(
        _ request: CopyItems,
        _ cancellation: Cancellation?
    ) throws(KeychainError) -> ItemResults {
        let whole = try room.reserve(ItemReplies.mostLocked, cancellation: cancellation)
        let sink = ItemReplies(returns: request.query.returns, reserved: whole)
        try call(.copyItems, request, replies: sink, cancellation: cancellation)
        return ItemResults(sink)
    }

    /// Changes all items that match, all or none.
    ///
    /// - Returns: how many there were.
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

    /// Deletes all items that match, all or none.
    ///
    /// - Returns: how many there were.
    @discardableResult
    public func delete(
        _ request: DeleteItems,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Int {
        try request.query.checkLimits()
        try request.prompt.checkLimits()
        return try call(.deleteItems, request, reply: CountBody.self, cancellation: cancellation).count
    }
}
