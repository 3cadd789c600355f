/// An event as the caller describes it; the store adds its place in a chain.
public struct AuditEvent: Sendable, Equatable {
    /// The kind of event, in the words of OWASP's logging vocabulary and a few of our own.
    public struct Name: RawRepresentable, Hashable, Sendable {
        /// The word.
        public let rawValue: String

        /// Creates a name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of event.
    public var name: Name
    /// The account concerned; nil: none that exists.
    public var account: AccountID?
    /// The session concerned.
    public var session: SessionID?
    /// The credential concerned.
    public var credential: CredentialID?
    /// The network address of the request.
    public var address: String
    /// The request's trace id, which is also in the response and in the log.
    public var trace: String
    /// The reason, as a code.
    public var reason: String
    /// Further details as JSON (the received origin, the administrator's name); no secrets.
    public var details: String
    /// That the account's owner is to be told of it; nil: nobody is.
    ///
    /// It is no part of the audit.
    public var notice: NoticeRequest?

    /// Creates an event.
    public init(
        _ name: Name,
        account: AccountID? = nil,
        session: SessionID? = nil,
        credential: CredentialID? = nil,
        address: String = "",
        trace: String = "",
        reason: String = "",
        details: String = "",
        notice: NoticeRequest? = nil
    ) {
        self.name = name
        self.account = account
        self.session = session
        self.credential = credential
        self.address = address
        self.trace = trace
        self.reason = reason
        self.details = details
        self.notice = notice
    }
}

extension AuditEvent.Name {
    /// A user signed in.
    public static let loginSuccess = Self(rawValue: "authn_login_success")
    /// A user signed in after failures.
    public static let loginSuccessAfterFail = Self(rawValue: "authn_login_successafterfail")
    /// A login was refused; the reason says why.
    public static let loginFail = Self(rawValue: "authn_login_fail")
    /// A login had to wait because of failures before it.
    public static let loginFailMax = Self(rawValue: "authn_login_fail_max")
    /// An administrator locked or unlocked the account (see the reason).
    public static let loginLock = Self(rawValue: "authn_login_lock")
    /// The password was changed.
    public static let passwordChange = Self(rawValue: "authn_password_change")
    /// An administrator made a link; the reason is its kind.
    public static let linkIssued = Self(rawValue: "link_issued")
    /// A link was used; the reason is its kind, and a refusal is ``loginFail``.
    public static let linkRedeemed = Self(rawValue: "link_redeemed")
    /// An administrator revoked a link.
    public static let linkRevoked = Self(rawValue: "link_revoked")
    /// A user made recovery codes, which replace the former ones.
    public static let recoveryCodesCreated = Self(rawValue: "recovery_codes_created")
    /// A recovery code was used; a refusal is ``loginFail``.
    public static let recoveryCodeUsed = Self(rawValue: "recovery_code_used")
    /// A change of the password was refused.
    public static let passwordChangeFail = Self(rawValue: "authn_password_change_fail")
    /// Tokens were revoked.
    public static let tokenRevoked = Self(rawValue: "authn_token_revoked")
    /// A refresh token was reused after its successor: its session ended.
    public static let tokenReuse = Self(rawValue: "authn_token_reuse")
    /// A request was not authorised.
    public static let authorizationFail = Self(rawValue: "authz_fail")
    /// An administrator performed an operation.
    public static let administration = Self(rawValue: "authz_admin")
    /// Too many requests.
    public static let rateLimitExceeded = Self(rawValue: "excess_rate_limit_exceeded")
    /// The oldest session ended because there were too many.
    public static let sessionsExceeded = Self(rawValue: "excess_sessions_exceeded")
    /// Tokens of a session were renewed, or it was authenticated again.
    public static let sessionRenewed = Self(rawValue: "session_renewed")
    /// Sessions ended on request.
    public static let sessionLogout = Self(rawValue: "session_logout")
    /// A request does not belong to the present step of its ceremony.
    public static let sequenceFail = Self(rawValue: "sequence_fail")
    /// An account was created.
    public static let userCreated = Self(rawValue: "user_created")
    /// An account was changed.
    public static let userUpdated = Self(rawValue: "user_updated")
    /// An account was deleted.
    public static let userDeleted = Self(rawValue: "user_deleted")
    /// A server started.
    public static let startup = Self(rawValue: "sys_startup")
    /// A server stopped.
    public static let shutdown = Self(rawValue: "sys_shutdown")
    /// A credential was registered.
    public static let credentialRegistered = Self(rawValue: "credential_registered")
    /// A credential was renamed.
    public static let credentialRenamed = Self(rawValue: "credential_renamed")
    /// A credential was removed.
    public static let credentialRemoved = Self(rawValue: "credential_removed")
    /// A credential can no longer sign in; see the reason.
    public static let credentialSuspended = Self(rawValue: "credential_suspended")
    /// A suspended credential can sign in again.
    public static let credentialRestored = Self(rawValue: "credential_restored")
    /// A device says other things of itself than at its last use; the reason names them.
    public static let credentialDeviceChanged = Self(rawValue: "credential_device_changed")
    /// A key that is no credential was registered.
    public static let deviceKeyRegistered = Self(rawValue: "device_key_registered")
    /// Such a key was removed.
    public static let deviceKeyRemoved = Self(rawValue: "device_key_removed")
    /// An attestation was refused.
    public static let attestationRejected = Self(rawValue: "attestation_rejected")
    /// The attestation CA issued a certificate.
    public static let attestationKeyCertified = Self(rawValue: "attestation_key_certified")
    /// A transaction was created.
    public static let transactionCreated = Self(rawValue: "transaction_created")
    /// A transaction was confirmed.
    public static let transactionApproved = Self(rawValue: "transaction_approved")
    /// A transaction was rejected by its owner.
    public static let transactionRejected = Self(rawValue: "transaction_rejected")
    /// A confirmation was invalid.
    public static let transactionFailed = Self(rawValue: "transaction_failed")
}

/// A record's chain and its number in it.
public struct AuditPlace: Sendable, Equatable {
    /// Before all records.
    public static let start = AuditPlace(chain: [], sequence: 0)

    /// The chain, see ``AuditRecord/chain``.
    public let chain: [UInt8]
    /// The number in the chain.
    public let sequence: Int64

    /// Creates a place.
    public init(chain: [UInt8], sequence: Int64) {
        self.chain = chain
        self.sequence = sequence
    }
}

/// An event with its place in the audit.
public struct AuditRecord: Sendable, Equatable {
    /// Its position among all records of the store; increases, with gaps.
    public let position: Int64
    /// The chain of the record: the account's id, or 8 bytes that identify a chain of the store for events without an
    /// account.
    public let chain: [UInt8]
    /// Its number in the chain: 1, 2, 3, … without gaps.
    public let sequence: Int64
    /// The time of the event.
    public let time: Timestamp
    /// The event.
    public let event: AuditEvent
    /// The hash of the previous record of the chain; 32 zero bytes for the first.
    public let previousHash: [UInt8]
    /// SHA-256 over all of the above except ``position``.
    public let hash: [UInt8]

    /// The record's place.
    public var place: AuditPlace { AuditPlace(chain: chain, sequence: sequence) }

    /// Creates a record.
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
