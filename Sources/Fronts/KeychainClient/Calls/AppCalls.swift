public import KeychainModel

/// The owners of items; only for the `touchstone` command.
extension RemoteKeychain {
    /// The access groups that hold items, by name.
    public func apps() throws(KeychainError) -> [ItemOwner] {
        try call(.listApps, EmptyBody(), reply: AppsReply.self).owners
    }

    /// Moves all items of an access group to another one atomically, with the passcode.
    ///
    /// `progress` is called on any thread, after the first second.
    public func move(
        _ request: MoveItems,
        progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
    ) throws(KeychainError) -> MoveReply {
        try request.prompt.checkLimits()
        return try call(.moveItems, request, reply: MoveReply.self, progress: progress)
    }

    /// Lets a program use fingers or not; to allow them again takes the passcode.
    public func switchFingers(_ request: SwitchFingers) throws(KeychainError) {
        try request.prompt.checkLimits()
        _ = try call(.switchFingers, request, reply: EmptyBody.self)
    }

    /// The protection against theft.
    ///
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` and the cause `locked` before the first unlock.
    public func protection() throws(KeychainError) -> ProtectionReply {
        try call(.readProtection, EmptyBody(), reply: ProtectionReply.self)
    }

    /// Changes the protection against theft, with the passcode; what makes it weaker has to wait while it is in effect.
    ///
    /// - Throws: ``KeychainError`` with the cause `changeDelayed` and the remedy `wait`; with the cause `placeRefused` if the
    ///   present network cannot be trusted; with `errSecItemNotFound` for a name that is not trusted.
    public func changeProtection(_ request: ChangeProtection) throws(KeychainError) {
        try request.prompt.checkLimits()
        _ = try call(.changeProtection, request, reply: EmptyBody.self)
    }
}
