public import KeychainModel

/// Whose items there are; for the daemon's own command alone.
extension RemoteKeychain {
    /// The groups that hold items, by name.
    public func apps() throws(KeychainError) -> [ItemOwner] {
        try call(.listApps, EmptyBody(), reply: AppsReply.self).owners
    }

    /// Moves all items of a group to another, all or none, with the passcode.
    public func move(_ request: MoveItems) throws(KeychainError) -> MoveReply {
        try request.prompt.checkLimits()
        return try call(.moveItems, request, reply: MoveReply.self)
    }
}
