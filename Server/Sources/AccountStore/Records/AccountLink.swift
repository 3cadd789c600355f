/// A link by which the owner of an account gets in once, without a credential; made by an administrator.
public struct AccountLink: Sendable, Equatable {
    /// What a link is for.
    public enum Kind: String, Sendable, CaseIterable {
        /// A new user sets up the account.
        case enrolment
        /// A user who lost what signed in.
        case recovery
    }

    /// The token's digest, which is its id too.
    public let digest: TokenDigest
    /// The account.
    public let account: AccountID
    /// What it is for.
    public let kind: Kind
    /// What becomes of the account's credentials when it is used.
    public let credentials: FormerCredentials
    /// When it was made.
    public let createdAt: Timestamp
    /// From then on it opens nothing.
    public let expiresAt: Timestamp

    /// Creates one.
    public init(
        digest: TokenDigest,
        account: AccountID,
        kind: Kind,
        credentials: FormerCredentials,
        createdAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.digest = digest
        self.account = account
        self.kind = kind
        self.credentials = credentials
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}

/// What becomes of what signed in before, when an account is recovered.
public enum FormerCredentials: String, Sendable, CaseIterable {
    /// Passkeys, devices, password and sessions stay.
    case keep
    /// All of them end at once, and with them tokens, recovery codes and other links.
    case end
}

/// A user's recovery codes, of which a store has digests only.
public struct RecoveryCodes: Sendable, Equatable {
    /// How many are left.
    public let left: Int
    /// When they were made; nil: the account never had any, or has none left.
    public let createdAt: Timestamp?

    /// Creates one.
    public init(left: Int, createdAt: Timestamp?) {
        self.left = left
        self.createdAt = createdAt
    }
}
