/// Who signs in.
public struct Account: Sendable, Equatable {
    /// Its id, which is its user handle.
    public let id: AccountID
    /// What somebody types; unique, and brought to one form (RFC 8265) by whoever calls.
    public var username: String
    /// What a page shows.
    public var displayName: String
    /// When it was made.
    public let createdAt: Timestamp
    /// Since when an administrator keeps it shut; nil: it is open.
    public var lockedAt: Timestamp?
    /// Its password; nil: it has none.
    public var password: PasswordRecord?

    /// Describes an account.
    public init(
        id: AccountID,
        username: String,
        displayName: String,
        createdAt: Timestamp,
        lockedAt: Timestamp? = nil,
        password: PasswordRecord? = nil
    ) {
        self.id = id
        self.username = username
        self.displayName = displayName
        self.createdAt = createdAt
        self.lockedAt = lockedAt
        self.password = password
    }
}

/// A password as it is stored.
public struct PasswordRecord: Sendable, Equatable {
    /// The PHC string.
    public var hash: String
    /// When it was chosen; a new cost for the same password does not change it.
    public var changedAt: Timestamp

    /// Describes a password.
    public init(hash: String, changedAt: Timestamp) {
        self.hash = hash
        self.changedAt = changedAt
    }
}
