/// Somebody who is signed in somewhere.
public struct Session: Sendable, Equatable {
    /// Its id.
    public let id: SessionID
    /// Whose it is.
    public let account: AccountID
    /// The credential that signed in last; nil: it was the password.
    public var credential: CredentialID?
    /// The authentication context class (`acr`).
    public var acr: String
    /// The authentication methods (`amr`, RFC 8176).
    public var amr: [String]
    /// When somebody last signed in or was authenticated again.
    public var authTime: Timestamp
    /// When it began.
    public let createdAt: Timestamp
    /// When its tokens were last renewed.
    public var lastUsedAt: Timestamp
    /// Its end, whatever happens.
    public let expiresAt: Timestamp
    /// How long its refresh token is good without being used.
    public let idleLifetime: Duration
    /// The thumbprint (RFC 7638) of the key that its refresh token is bound to; nil: it is not bound, and rotates.
    public let thumbprint: [UInt8]?
    /// What its client calls itself, for the list of sessions.
    public let client: String
    /// Where it began, for the list of sessions.
    public let address: String

    /// Describes a session.
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
        address: String = ""
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
    }

    /// When its refresh token ends if nobody uses it: the earlier one of both limits.
    public var refreshExpiresAt: Timestamp { min(expiresAt, lastUsedAt + idleLifetime) }
}

/// The two tokens that a client gets.
public struct TokenPair: Sendable, Equatable {
    /// The access token's digest.
    public let access: TokenDigest
    /// The end of the access token.
    public let accessExpiresAt: Timestamp
    /// The refresh token's digest.
    public let refresh: TokenDigest

    /// Describes two tokens.
    public init(access: TokenDigest, accessExpiresAt: Timestamp, refresh: TokenDigest) {
        self.access = access
        self.accessExpiresAt = accessExpiresAt
        self.refresh = refresh
    }
}

/// What a token that is good opens.
public struct LiveSession: Sendable, Equatable {
    /// The session.
    public let session: Session
    /// Its account, which is not locked.
    public let account: Account
    /// The end of this token.
    public let tokenExpiresAt: Timestamp

    /// Describes one.
    public init(session: Session, account: Account, tokenExpiresAt: Timestamp) {
        self.session = session
        self.account = account
        self.tokenExpiresAt = tokenExpiresAt
    }
}
