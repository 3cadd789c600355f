/// What the mail hook is told of an event, stored by the event's transaction until it is delivered.
public struct Notice: Sendable, Equatable {
    /// How long a notice is delivered at most.
    public static let lifetime = Duration.seconds(86_400)

    /// 16 random bytes, the same at each attempt.
    public let id: [UInt8]
    /// The event.
    public let event: AuditEvent.Name
    /// The account, which may have been deleted since.
    public let account: AccountID
    /// Its name at the time of the event.
    public let username: String
    /// Its display name at the time of the event.
    public let displayName: String
    /// When it happened.
    public let time: Timestamp
    /// When no further delivery is tried.
    public let expiresAt: Timestamp
    /// How often it was taken for delivery.
    public let attempts: Int
    /// Whether an administrator did it.
    public let byAdministrator: Bool
    /// The client's address; empty if an administrator did it.
    public let address: String
    /// The trace id of the request.
    public let trace: String
    /// The reason, as in the audit.
    public let reason: String
    /// The link that the owner is to get; nil: none.
    public let link: String?

    /// Creates a notice.
    public init(
        id: [UInt8],
        event: AuditEvent.Name,
        account: AccountID,
        username: String,
        displayName: String,
        time: Timestamp,
        expiresAt: Timestamp,
        attempts: Int,
        byAdministrator: Bool,
        address: String,
        trace: String,
        reason: String,
        link: String?
    ) {
        self.id = id
        self.event = event
        self.account = account
        self.username = username
        self.displayName = displayName
        self.time = time
        self.expiresAt = expiresAt
        self.attempts = attempts
        self.byAdministrator = byAdministrator
        self.address = address
        self.trace = trace
        self.reason = reason
        self.link = link
    }

    /// The events of an account that its owner is told of (NIST SP 800-63B-4, section 4.6: recovery, and changes of what signs
    /// in).
    public static let events: Set<AuditEvent.Name> = [
        .userCreated, .userUpdated, .userDeleted, .loginLock, .passwordChange, .linkIssued, .linkRedeemed,
        .recoveryCodesCreated, .recoveryCodeUsed, .credentialRegistered, .credentialRemoved,
        .credentialSuspended, .credentialRestored, .tokenReuse,
    ]
}

/// That the owner of an event's account is to be told of it, if it is one of ``Notice/events``.
public struct NoticeRequest: Sendable, Equatable {
    /// When no further delivery is tried.
    public var expiresAt: Timestamp
    /// Whether an administrator did it.
    public let byAdministrator: Bool
    /// The link that the owner is to get; nil: none.
    public var link: String?

    /// Creates a request.
    public init(expiresAt: Timestamp, byAdministrator: Bool, link: String? = nil) {
        self.expiresAt = expiresAt
        self.byAdministrator = byAdministrator
        self.link = link
    }
}
