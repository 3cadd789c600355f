/// Signing in, tokens and signing out.
public protocol SessionStore: Sendable {
    /// Completes a login by a credential or password, or a reauthentication: updates the credential's counter and
    /// flags, and writes the session with its tokens and the audit.
    ///
    /// In the same transaction, a counter that did not grow is refused (``LoginRefusal/counterNotGrown``); a password that was changed since
    /// it was checked does not sign in; and the oldest session ends when there are too many.
    func completeLogin(_ completion: LoginCompletion) async throws(StoreError) -> LoginOutcome

    /// Consumes a ceremony, verifies the response to it, and completes the login, in one transaction.
    ///
    /// As with ``CeremonyStore/consumeCeremony(_:presenting:now:)``, the ceremony is then consumed, even if `verify`
    /// throws: of two concurrent requests one gets it, and a refused response cannot be tried again. `verify` must have
    /// no side effects: it runs within the transaction, and again if the transaction is repeated.
    ///
    /// - Parameters:
    ///   - ceremony: the ceremony of the response.
    ///   - credential: the responding credential.
    ///   - now: the current time.
    ///   - verify: makes a login of the ceremony and the credential, or throws a refusal.
    /// - Returns: the outcome, including an error of `verify`.
    /// - Throws: ``StoreError``; then nothing happened, and the ceremony is unchanged.
    func completeLogin<Refusal: Error>(
        by ceremony: CeremonyID,
        presenting credential: CredentialID,
        now: Timestamp,
        verify: @escaping @Sendable (ConsumedCeremony) throws(Refusal) -> LoginCompletion
    ) async throws(StoreError) -> CeremonyLogin<Refusal>

    /// The session of a token; nil: the token is unknown, expired or revoked, or the account is locked.
    ///
    /// A read-only look-up by key, made for every request.
    func liveSession(
        _ token: TokenDigest,
        _ kind: TokenKind,
        now: Timestamp
    ) async throws(StoreError) -> LiveSession?

    /// Renews the tokens of a session.
    ///
    /// The refresh token is replaced by its successor, and using the old one afterwards ends the session
    /// (``Limits/refreshGrace``, ``Limits/boundRefreshGrace``).
    func refresh(_ request: RefreshRequest) async throws(StoreError) -> RefreshOutcome

    /// Revokes a token (RFC 7009): an access token alone, or a refresh token with its session.
    ///
    /// - Returns: the session of the token; nil: there was nothing to revoke.
    @discardableResult
    func revoke(
        _ token: TokenDigest,
        _ kind: TokenKind,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> SessionID?

    /// The active sessions of an account, newest first.
    func sessions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Session]

    /// Ends one session and invalidates its tokens.
    ///
    /// - Throws: ``StoreError/Code/notFound`` when the account has no such session.
    func endSession(
        _ id: SessionID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError)

    /// Ends all sessions of an account, or all but one.
    ///
    /// - Returns: how many ended.
    @discardableResult
    func endSessions(
        of account: AccountID,
        except kept: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> Int
}

/// The kind of a token.
public enum TokenKind: Sendable, CaseIterable {
    /// Grants access to the API for minutes.
    case access
    /// Gets new access tokens.
    case refresh
}

/// A login that passed all checks.
public struct LoginCompletion: Sendable {
    /// The method of authentication.
    public enum Method: Sendable, Equatable {
        /// A credential.
        case credential(CredentialUse)
        /// The password, with the hash it was checked against; and its hash with a new cost, if it must be stored
        /// again.
        case password(checked: String, rehashed: String?)
        /// A link as it was read, which is used up.
        case link(AccountLink)
        /// A recovery code by its digest, which is used up, and what becomes of the other credentials.
        case recoveryCode([UInt8], FormerCredentials)

        /// What becomes of the account's credentials.
        package var formerCredentials: FormerCredentials {
            switch self {
            case .credential, .password: .keep
            case .link(let link): link.credentials
            case .recoveryCode(_, let choice): choice
            }
        }
    }

    /// The session that a login leads to.
    public enum Target: Sendable, Equatable {
        /// A new session.
        case newSession
        /// The existing session, if its class is still one of these: it gets a new time, class and methods of
        /// authentication and new tokens, and the old tokens end.
        ///
        /// Only id, account, credential, acr, amr and authTime of ``LoginCompletion/session`` are used.
        case renewal(of: [String])
    }

    /// The method of authentication.
    public let method: Method
    /// The session that the login leads to.
    public let target: Target
    /// The session, with the account that signs in.
    public let session: Session
    /// Its tokens.
    public let tokens: TokenPair
    /// The accompanying proof of possession, which is valid once.
    public let proof: ProofIdentifier?
    /// The failure counts to reset.
    public let resetting: [LimitKey]
    /// The counts that included this login as a failure, and are now reduced.
    public let givingBack: [LimitKey]
    /// The audit event of a success; the store reuses its address and trace for other events.
    public let audit: AuditEvent
    /// The current time.
    public let now: Timestamp

    /// Creates a completion.
    public init(
        method: Method,
        target: Target = .newSession,
        session: Session,
        tokens: TokenPair,
        proof: ProofIdentifier? = nil,
        resetting: [LimitKey] = [],
        givingBack: [LimitKey] = [],
        audit: AuditEvent,
        now: Timestamp
    ) {
        self.method = method
        self.target = target
        self.session = session
        self.tokens = tokens
        self.proof = proof
        self.resetting = resetting
        self.givingBack = givingBack
        self.audit = audit
        self.now = now
    }
}

/// The outcome of a login.
public enum LoginOutcome: Sendable, Equatable {
    /// Completed with a session. Lists the sessions that ended because there were too many.
    case completed(Session, ended: [SessionID])
    /// Refused. The audit already has it as ``AuditEvent/Name/loginFail``.
    case refused(LoginRefusal)
}

/// The outcome of a login by a ceremony.
public enum CeremonyLogin<Refusal: Error>: Sendable {
    /// The ceremony was consumed, has expired, or never existed.
    case noCeremony
    /// The response was refused. The ceremony is consumed; the audit does not have the refusal.
    case refused(Refusal, ConsumedCeremony)
    /// The response was verified.
    case verified(LoginOutcome)
}

/// Why the last step refused a login.
public enum LoginRefusal: String, Sendable, CaseIterable {
    /// The account was deleted meanwhile.
    case noAccount = "no_account"
    /// The account is locked by an administrator.
    case accountLocked = "account_locked"
    /// The credential was removed meanwhile, or belongs to another account.
    case noCredential = "no_credential"
    /// The credential is suspended.
    case credentialSuspended = "credential_suspended"
    /// The counter did not grow, which shows no copy: responses that arrived out of order, or a credential that may be
    /// backed up.
    case counterNotGrown = "counter_not_grown"
    /// The counter is not above the one stored when the ceremony was opened; the credential is now suspended.
    case clonedCounter = "cloned_counter"
    /// The password was changed meanwhile.
    case passwordChanged = "password_changed"
    /// The proof of possession was used before.
    case proofReplayed = "proof_replayed"
    /// The session to renew has ended.
    case noSession = "no_session"
    /// The session to renew is of a stronger class by now than this authentication.
    case weakerMethod = "weaker_method"
    /// The access token is to be bound to the session's key, and the session has none.
    case noKey = "no_key"
    /// The link was used, replaced or revoked meanwhile, or has expired.
    case noLink = "no_link"
    /// The account has no such recovery code (any more).
    case noRecoveryCode = "no_recovery_code"
}

/// A request to refresh tokens.
public struct RefreshRequest: Sendable {
    /// The presented refresh token.
    public let token: TokenDigest
    /// The thumbprint of the key whose proof was verified; nil: there was no proof.
    public let thumbprint: [UInt8]?
    /// The proof, which is valid once.
    public let proof: ProofIdentifier?
    /// The new tokens.
    public let tokens: TokenPair
    /// The audit event of a success; the store reuses its address and trace for other events.
    public let audit: AuditEvent
    /// The current time.
    public let now: Timestamp

    /// Creates a request.
    public init(
        token: TokenDigest,
        thumbprint: [UInt8]? = nil,
        proof: ProofIdentifier? = nil,
        tokens: TokenPair,
        audit: AuditEvent,
        now: Timestamp
    ) {
        self.token = token
        self.thumbprint = thumbprint
        self.proof = proof
        self.tokens = tokens
        self.audit = audit
        self.now = now
    }
}

/// The outcome of a refresh.
public enum RefreshOutcome: Sendable, Equatable {
    /// Renewed with new tokens.
    case renewed(Session)
    /// Refused; the client gets `invalid_grant`.
    case refused(RefreshRefusal)
}

/// Why a refresh was refused; if the session is known, the audit already has it.
public enum RefreshRefusal: String, Sendable, CaseIterable {
    /// The token does not exist, or its session ended.
    case unknownToken = "unknown_token"
    /// The token was unused for too long, or the session has expired.
    case expired
    /// The token was replaced, and its successor was used or the grace period is over: the whole session ended.
    case reused
    /// The token is bound to a key, and the proof is by another key or missing.
    case otherKey = "other_key"
    /// The proof was used before.
    case proofReplayed = "proof_replayed"
    /// The account is locked by an administrator.
    case accountLocked = "account_locked"
    /// The access token is to be bound to the session's key, and the session has none.
    case noKey = "no_key"
    /// The session has a ``SessionTask``, and gets no token for a resource server.
    case limitedSession = "limited_session"
}
