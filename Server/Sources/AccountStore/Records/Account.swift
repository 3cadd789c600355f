/// A user's account.
public struct Account: Sendable, Equatable {
    /// The account's id, which is its user handle.
    public let id: AccountID
    /// The name that the user types; unique, and normalised (RFC 8265) by the caller.
    public var username: String
    /// The name that pages show.
    public var displayName: String
    /// When the account was created.
    public let createdAt: Timestamp
    /// Since when an administrator has locked it; nil: it is not locked.
    public var lockedAt: Timestamp?
    /// Its password; nil: it has none.
    public var password: PasswordRecord?

    /// Creates an account.
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

/// A stored password.
public struct PasswordRecord: Sendable, Equatable {
    /// The PHC string.
    public var hash: String
    /// When it was chosen; rehashing with a new cost does not change it.
    public var changedAt: Timestamp
    /// Whether an administrator chose it only for the next sign-in, which has to change it
    /// (``SessionTask/changePassword``).
    public var mustChange: Bool

    /// Creates a password record.
    public init(hash: String, changedAt: Timestamp, mustChange: Bool = false) {
        self.hash = hash
        self.changedAt = changedAt
        self.mustChange = mustChange
    }
}
