/// Signing in, tokens, signing out.
public protocol SessionStore: Sendable {
    /// Completes a login, by a credential or by the password, or an authentication again: the counter and the flags of the
    /// credential, the session with its tokens, and the audit.
    ///
    /// What else it sees to, all in the same transaction: a counter that did not grow suspends the credential; a password
    /// that was changed since it was checked does not sign in; the oldest session ends when there are too many.
    func completeLogin(_ completion: LoginCompletion) async throws(StoreError) -> LoginOutcome

    /// Takes a ceremony away, verifies the answer to it, and completes the login, in one transaction.
    ///
    /// The ceremony is gone as after ``CeremonyStore/consumeCeremony(_:presenting:now:)``, also when `verify` throws: of two
    /// who want the same one, one gets it, and a refused answer cannot be tried again. `verify` computes and does nothing
    /// else: it runs within the transaction, and again when the transaction has to be repeated.
    ///
    /// - Parameters:
    ///   - ceremony: the ceremony that the answer is to.
    ///   - credential: the credential that the answer is by.
    ///   - now: now.
    ///   - verify: makes a login of the ceremony and the credential, or refuses.
    /// - Returns: how it ended; what `verify` threw is in it.
    /// - Throws: ``StoreError``; then nothing happened, and the ceremony is as it was.
    func completeLogin<Refusal: Error>(
        by ceremony: CeremonyID,
        presenting credential: CredentialID,
        now: Timestamp,
        verify: @escaping @Sendable (ConsumedCeremony) throws(Refusal) -> LoginCompletion
    ) async throws(StoreError) -> CeremonyLogin<Refusal>

    /// What a token opens; nil: nothing, because it is unknown, over or revoked, or the account is locked.
    ///
    /// A look-up by its key that writes nothing, made for every request.
    func liveSession(
        _ token: TokenDigest,
        _ kind: TokenKind,
        now: Timestamp
    ) async throws(StoreError) -> LiveSession?

    /// Renews the tokens of a session.
    ///
    /// A refresh token that is bound to a key stays as it is; one that is not gives way to its successor, and its being
    /// used again after that ends the session (``Limits/refreshGrace``).
    func refresh(_ request: RefreshRequest) async throws(StoreError) -> RefreshOutcome

    /// Revokes a token (RFC 7009): an access token alone, a refresh token with its session.
    ///
    /// - Returns: the session that the token belonged to; nil: there was nothing to revoke.
    @discardableResult
    func revoke(
        _ token: TokenDigest,
        _ kind: TokenKind,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> SessionID?

    /// The sessions of an account that are not over, the newest first.
    func sessions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Session]

    /// Ends one session; its tokens are worth nothing from then on.
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

/// Which token.
public enum TokenKind: Sendable, CaseIterable {
    /// Opens the API for minutes.
    case access
    /// Gets new access tokens.
    case refresh
}

/// What a login has come to, all checks passed.
public struct LoginCompletion: Sendable {
    /// What showed who it is.
    public enum Method: Sendable, Equatable {
        /// A credential.
        case credential(CredentialUse)
        /// The password, whose hash was this when it was checked; and the same password with a new cost, if it is to be
        /// stored anew.
        case password(checked: String, rehashed: String?)
    }

    /// What it opens.
    public enum Target: Sendable, Equatable {
        /// A session of its own.
        case newSession
        /// The session that was there: it gets a new time, class and methods of authentication and new tokens, and the
        /// old tokens end.
        ///
        /// Of ``LoginCompletion/session`` only id, account, credential, acr, amr and authTime are used.
        case renewal
    }

    /// What showed who it is.
    public let method: Method
    /// What it opens.
    public let target: Target
    /// The session, whose account is whoever signs in.
    public let session: Session
    /// Its tokens.
    public let tokens: TokenPair
    /// The proof of possession that came with it, which is good once.
    public let proof: ProofIdentifier?
    /// The counts of failures that are forgotten now.
    public let resetting: [LimitKey]
    /// The counts that this login was added to as a failure, and is taken from now.
    public let givingBack: [LimitKey]
    /// What the audit says when it succeeds; the store takes its address and trace for what is said otherwise.
    public let audit: AuditEvent
    /// Now.
    public let now: Timestamp

    /// Describes a login.
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

/// How a login ended.
public enum LoginOutcome: Sendable, Equatable {
    /// In a session. The sessions that ended because there were too many are named.
    case completed(Session, ended: [SessionID])
    /// Not in one. The audit has it as ``AuditEvent/Name/loginFail`` already.
    case refused(LoginRefusal)
}

/// How a login by a ceremony ended.
public enum CeremonyLogin<Refusal: Error>: Sendable {
    /// The ceremony was consumed before, is over, or never was.
    case noCeremony
    /// The answer was not good. The ceremony is consumed; the audit does not have it.
    case refused(Refusal, ConsumedCeremony)
    /// The answer was good.
    case verified(LoginOutcome)
}

/// Why a login was refused at its last step.
public enum LoginRefusal: String, Sendable, CaseIterable {
    /// The account was deleted meanwhile.
    case noAccount = "no_account"
    /// An administrator keeps it shut.
    case accountLocked = "account_locked"
    /// The credential was removed meanwhile, or is another account's.
    case noCredential = "no_credential"
    /// The credential is suspended.
    case credentialSuspended = "credential_suspended"
    /// The counter did not grow; the credential is suspended from now on.
    case clonedCounter = "cloned_counter"
    /// The password was changed meanwhile.
    case passwordChanged = "password_changed"
    /// The proof of possession was used before.
    case proofReplayed = "proof_replayed"
    /// The session that was to be renewed is over.
    case noSession = "no_session"
}

/// A refresh of tokens.
public struct RefreshRequest: Sendable {
    /// The refresh token that was shown.
    public let token: TokenDigest
    /// The thumbprint of the key whose proof came with it and was verified; nil: no proof came.
    public let thumbprint: [UInt8]?
    /// The proof, which is good once.
    public let proof: ProofIdentifier?
    /// The new tokens; the refresh token of them is used only when the old one rotates.
    public let tokens: TokenPair
    /// What the audit says when it succeeds; the store takes its address and trace for what is said otherwise.
    public let audit: AuditEvent
    /// Now.
    public let now: Timestamp

    /// Describes a refresh.
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

/// How a refresh ended.
public enum RefreshOutcome: Sendable, Equatable {
    /// With a new access token.
    ///
    /// - rotated: the client gets the new refresh token; else it keeps the one that it has.
    case renewed(Session, rotated: Bool)
    /// Without; the client hears `invalid_grant`.
    case refused(RefreshRefusal)
}

/// Why a refresh was refused; where the session is known, the audit has it already.
public enum RefreshRefusal: String, Sendable, CaseIterable {
    /// No such token, or its session ended.
    case unknownToken = "unknown_token"
    /// It was not used for too long, or the session is over.
    case expired
    /// It was replaced, and its successor used or the grace over: the whole session ended.
    case reused
    /// It is bound to a key, and the proof is by another or there is none.
    case otherKey = "other_key"
    /// The proof was used before.
    case proofReplayed = "proof_replayed"
    /// An administrator keeps the account shut.
    case accountLocked = "account_locked"
}
