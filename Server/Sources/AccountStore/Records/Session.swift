/// A session of a signed-in user.
public struct Session: Sendable, Equatable {
    /// The session's id.
    public let id: SessionID
    /// The account that is signed in.
    public let account: AccountID
    /// The credential used for the last sign-in; nil: the password.
    public var credential: CredentialID?
    /// The authentication context class (`acr`).
    public var acr: String
    /// The authentication methods (`amr`, RFC 8176).
    public var amr: [String]
    /// When the user last signed in or reauthenticated.
    public var authTime: Timestamp
    /// When the session began.
    public let createdAt: Timestamp
    /// When its tokens were last renewed.
    public var lastUsedAt: Timestamp
    /// When the session expires at the latest.
    public let expiresAt: Timestamp
    /// How long its refresh token is valid without being used.
    public let idleLifetime: Duration
    /// The thumbprint (RFC 7638) of the key that its refresh token is bound to; nil: it is unbound.
    public let thumbprint: [UInt8]?
    /// The client's name for itself, for the list of sessions.
    public let client: String
    /// The network address at sign-in, for the list of sessions.
    public let address: String
    /// The one thing that it is for; nil: everything that its class allows.
    public let task: SessionTask?
    /// What its last authentication was worth, as words: a level, and facts; empty: a password, or a sign-in before a migration.
    public var assurance: [String]

    /// Creates a session.
    public init(
        id: SessionID,
        account: AccountID,
        credential: CredentialID? = nil,
        acr: String,
        amr: [String],
        authTime: Timestamp,
        createdAt: Timestamp,
        lastUsedAt: Timestamp,
        expiresAt: Timestamp,
        idleLifetime: Duration,
        thumbprint: [UInt8]? = nil,
        client: String = "",
        address: String = "",
        task: SessionTask? = nil,
        assurance: [String] = []
    ) {
        self.id = id
        self.account = account
        self.credential = credential
        self.acr = acr
        self.amr = amr
        self.authTime = authTime
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.expiresAt = expiresAt
        self.idleLifetime = idleLifetime
        self.thumbprint = thumbprint
        self.client = client
        self.address = address
        self.task = task
        self.assurance = assurance
    }

    /// When its refresh token expires if unused: the earlier of both limits.
    public var refreshExpiresAt: Timestamp { min(expiresAt, lastUsedAt + idleLifetime) }
}

/// What a limited session may do; it may do nothing else, and ends once that is done.
public enum SessionTask: String, Sendable, CaseIterable {
    /// Registering a credential or setting a password, one of both: after an ``AccountLink`` or a recovery code.
    case setUp = "set_up"
    /// Changing the password, which an administrator chose.
    case changePassword = "change_password"
}

/// The digests of a client's two tokens.
public struct TokenPair: Sendable, Equatable {
    /// The access token's digest.
    public let access: TokenDigest
    /// When the access token expires.
    public let accessExpiresAt: Timestamp
    /// What the access token opens; nil: the account's API of this server.
    public let grant: AudienceGrant?
    /// Whether the access token is bound to the session's key: a session without one does not get it.
    public let needsKey: Bool
    /// The refresh token's digest.
    public let refresh: TokenDigest

    /// Creates a pair.
    public init(
        access: TokenDigest,
        accessExpiresAt: Timestamp,
        grant: AudienceGrant? = nil,
        needsKey: Bool = false,
        refresh: TokenDigest
    ) {
        self.access = access
        self.accessExpiresAt = accessExpiresAt
        self.grant = grant
        self.needsKey = needsKey
        self.refresh = refresh
    }
}

/// The session of a valid token.
public struct LiveSession: Sendable, Equatable {
    /// The session.
    public let session: Session
    /// Its account, which is not locked.
    public let account: Account
    /// When this token expires.
    public let tokenExpiresAt: Timestamp
    /// What it opens, for an access token; nil: the account's API of this server.
    public let grant: AudienceGrant?

    /// Creates one.
    public init(
        session: Session,
        account: Account,
        tokenExpiresAt: Timestamp,
        grant: AudienceGrant? = nil
    ) {
        self.session = session
        self.account = account
        self.tokenExpiresAt = tokenExpiresAt
        self.grant = grant
    }
}
