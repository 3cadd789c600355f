/// What happened, as whoever calls describes it: the store adds its place in a chain.
public struct AuditEvent: Sendable, Equatable {
    /// What happened, in the words of OWASP's logging vocabulary and a few of our own.
    public struct Name: RawRepresentable, Hashable, Sendable {
        /// The word.
        public let rawValue: String

        /// Takes a word.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// What happened.
    public var name: Name
    /// To whose account; nil: to none that exists.
    public var account: AccountID?
    /// In which session.
    public var session: SessionID?
    /// With which credential.
    public var credential: CredentialID?
    /// Where it came from.
    public var address: String
    /// The request's number, which is in the answer and in the log.
    public var trace: String
    /// Why, as a code.
    public var reason: String
    /// What else there is to know (the origin that was seen, the administrator's name), JSON; no secrets.
    public var details: String

    /// Describes an event.
    public init(
        _ name: Name,
        account: AccountID? = nil,
        session: SessionID? = nil,
        credential: CredentialID? = nil,
        address: String = "",
        trace: String = "",
        reason: String = "",
        details: String = ""
    ) {
        self.name = name
        self.account = account
        self.session = session
        self.credential = credential
        self.address = address
        self.trace = trace
        self.reason = reason
        self.details = details
    }
}

extension AuditEvent.Name {
    /// Somebody signed in.
    public static let loginSuccess = Self(rawValue: "authn_login_success")
    /// Somebody signed in after failures.
    public static let loginSuccessAfterFail = Self(rawValue: "authn_login_successafterfail")
    /// A login was refused; the reason says why.
    public static let loginFail = Self(rawValue: "authn_login_fail")
    /// A login had to wait because of failures before it.
    public static let loginFailMax = Self(rawValue: "authn_login_fail_max")
    /// An administrator locked the account, or unlocked it (the reason says which).
    public static let loginLock = Self(rawValue: "authn_login_lock")
    /// The password was changed.
    public static let passwordChange = Self(rawValue: "authn_password_change")
    /// A change of the password was refused.
    public static let passwordChangeFail = Self(rawValue: "authn_password_change_fail")
    /// Tokens were revoked.
    public static let tokenRevoked = Self(rawValue: "authn_token_revoked")
    /// A refresh token was used again after its successor: its session ended.
    public static let tokenReuse = Self(rawValue: "authn_token_reuse")
    /// Somebody may not do what was asked.
    public static let authorizationFail = Self(rawValue: "authz_fail")
    /// An administrator did something.
    public static let administration = Self(rawValue: "authz_admin")
    /// Too many requests.
    public static let rateLimitExceeded = Self(rawValue: "excess_rate_limit_exceeded")
    /// The oldest session ended because there were too many.
    public static let sessionsExceeded = Self(rawValue: "excess_sessions_exceeded")
    /// Tokens of a session were renewed, or it was authenticated again.
    public static let sessionRenewed = Self(rawValue: "session_renewed")
    /// Sessions ended because somebody wanted it.
    public static let sessionLogout = Self(rawValue: "session_logout")
    /// A step came that its ceremony does not have.
    public static let sequenceFail = Self(rawValue: "sequence_fail")
    /// An account was made.
    public static let userCreated = Self(rawValue: "user_created")
    /// An account was changed.
    public static let userUpdated = Self(rawValue: "user_updated")
    /// An account was deleted.
    public static let userDeleted = Self(rawValue: "user_deleted")
    /// A server began to work.
    public static let startup = Self(rawValue: "sys_startup")
    /// A server ended.
    public static let shutdown = Self(rawValue: "sys_shutdown")
    /// A credential was registered.
    public static let credentialRegistered = Self(rawValue: "credential_registered")
    /// A credential was renamed.
    public static let credentialRenamed = Self(rawValue: "credential_renamed")
    /// A credential was removed.
    public static let credentialRemoved = Self(rawValue: "credential_removed")
    /// A credential does not sign anybody in any more; the reason says why.
    public static let credentialSuspended = Self(rawValue: "credential_suspended")
    /// A credential signs in again.
    public static let credentialRestored = Self(rawValue: "credential_restored")
    /// An attestation was refused.
    public static let attestationRejected = Self(rawValue: "attestation_rejected")
    /// The attestation CA gave a certificate.
    public static let attestationKeyCertified = Self(rawValue: "attestation_key_certified")
    /// A transaction was made.
    public static let transactionCreated = Self(rawValue: "transaction_created")
    /// A transaction was confirmed.
    public static let transactionApproved = Self(rawValue: "transaction_approved")
    /// A transaction was turned down by its owner.
    public static let transactionRejected = Self(rawValue: "transaction_rejected")
    /// A confirmation was not good.
    public static let transactionFailed = Self(rawValue: "transaction_failed")
}

/// An event in its place.
public struct AuditRecord: Sendable, Equatable {
    /// Where it is among all records of the store; grows, with gaps.
    public let position: Int64
    /// The chain that it belongs to: the account's id, or 8 bytes of the store's own for events without an account.
    public let chain: [UInt8]
    /// Its number in its chain: 1, 2, 3, … without gaps.
    public let sequence: Int64
    /// When.
    public let time: Timestamp
    /// What.
    public let event: AuditEvent
    /// The hash of the record before it in its chain; 32 zero bytes before the first.
    public let previousHash: [UInt8]
    /// SHA-256 over all above but ``position``.
    public let hash: [UInt8]

    /// Describes a record.
    public init(
        position: Int64,
        chain: [UInt8],
        sequence: Int64,
        time: Timestamp,
        event: AuditEvent,
        previousHash: [UInt8],
        hash: [UInt8]
    ) {
        self.position = position
        self.chain = chain
        self.sequence = sequence
        self.time = time
        self.event = event
        self.previousHash = previousHash
        self.hash = hash
    }
}
