internal import AccountStore

private enum Statements {
    static let account = SQLStatement("SELECT \(Account.columns) FROM accounts WHERE id = $1")
    /// The beginning and end of each session: all that a new session needs to know of the others.
    static let ends = SQLStatement(
        "SELECT id, created_at, expires_at, last_used_at, idle_lifetime FROM sessions WHERE account = $1"
    )
    /// The same, for the account of a credential.
    static let endsOfPresented = SQLStatement(
        """
        SELECT id, created_at, expires_at, last_used_at, idle_lifetime FROM sessions
        WHERE account = (SELECT account FROM credentials WHERE id = $1)
        """
    )
    static let session = SQLStatement(
        "SELECT \(Session.columns) FROM sessions WHERE account = $1 AND id = $2"
    )
    static let rehash = SQLStatement("UPDATE accounts SET password_hash = $2 WHERE id = $1")
    static let renew = SQLStatement(
        """
        UPDATE sessions SET credential = $3, acr = $4, amr = $5, auth_time = $6, last_used_at = $7, epoch = $8,
            assurance = $9
        WHERE account = $1 AND id = $2
        """
    )
}

/// The data of another session of the account that a new one needs.
private struct OtherSession {
    let id: SessionID
    let createdAt: Timestamp
    /// When its refresh token expires if unused.
    let end: Timestamp

    init(_ row: inout SQLRow) throws(StoreError) {
        id = try row.id()
        createdAt = try row.time()
        let expiresAt = try row.time()
        let lastUsedAt = try row.time()
        end = min(expiresAt, lastUsedAt + (try row.duration()))
    }

    func isOlder(than other: Self) -> Bool {
        createdAt == other.createdAt
            ? id.bytes.lexicographicallyPrecedes(other.id.bytes) : createdAt < other.createdAt
    }
}

/// The stored state for a login.
private struct LoginState {
    let account: Account?
    /// Nil: there is none with that id, or the login is by password.
    let credential: Credential?
    /// The session to renew, otherwise the beginnings and ends of all.
    let sessions: [SQLRow]
    /// The last record of the account's chain.
    let auditHead: [SQLRow]
}

extension LoginRefusal {
    /// The audit events of the refusal.
    func events(on occasion: AuditEvent, as name: AuditEvent.Name) -> [AuditEvent] {
        let failure = occasion.saying(name, reason: rawValue)
        guard self == .clonedCounter else { return [failure] }
        return [failure, occasion.saying(.credentialSuspended, reason: rawValue)]
    }
}

extension CredentialUse {
    /// The audit event of what changed on the device; none if nothing did.
    func changes(on occasion: AuditEvent) -> [AuditEvent] {
        guard let change else { return [] }
        var event = occasion.saying(.credentialDeviceChanged, reason: change.reason, credential: id)
        event.details = change.details
        return [event]
    }
}

extension LoginCompletion.Method {
    fileprivate func changes(on occasion: AuditEvent) -> [AuditEvent] {
        if case .credential(let use) = self { use.changes(on: occasion) } else { [] }
    }
}

extension SQLConnection {
    func completeLogin(_ completion: LoginCompletion) throws -> LoginOutcome {
        let id = completion.session.account
        var queries = [
            auditHead(of: completion.audit.of(id)),
            SQLQuery(Statements.account, [.of(id)]),
            completion.target != .newSession
                ? SQLQuery(Statements.session, [.of(id), .of(completion.session.id)])
                : SQLQuery(Statements.ends, [.of(id)]),
        ]
        if case .credential(let use) = completion.method { queries.append(credentialQuery(use.id, of: id)) }
        let answers = try rows(queries)
        return try complete(
            completion,
            LoginState(
                account: try answers[1].first.map { row in
                    var row = row
                    return try Account(&row)
                },
                credential: try (answers.count > 3 ? answers[3].first : nil).map { row in
                    var row = row
                    return try Credential(&row)
                },
                sessions: answers[2],
                auditHead: answers[0]
            )
        )
    }

    /// Consumes a ceremony and completes its login; correct even if each statement sees what other transactions
    /// committed meanwhile.
    ///
    /// Every change of an account takes the next number of its chain, and this reads the chain's head first: if any
    /// change follows, the number is taken, and the transaction is repeated.
    func completeLogin<Refusal: Error>(
        by ceremony: CeremonyID,
        presenting presented: CredentialID,
        now: Timestamp,
        verify: (ConsumedCeremony) throws(Refusal) -> LoginCompletion
    ) throws -> CeremonyLogin<Refusal> {
        // All that a login reads, found by the credential: one round trip.
        let answers = try rows(
            [auditHead(ofAccountWith: presented), SQLQuery(Statements.endsOfPresented, [.of(presented)])]
                + consumeQueries(ceremony, presenting: presented)
        )
        guard let consumed = try consumed(Array(answers[2...]), now: now) else { return .noCeremony }
        let completion: LoginCompletion
        do throws(Refusal) { completion = try verify(consumed) } catch { return .refused(error, consumed) }
        guard completion.target == .newSession, completion.session.account == consumed.credential?.account,
            case .credential(let use) = completion.method, use.id == presented
        else { return .verified(try completeLogin(completion)) }
        return .verified(
            try complete(
                completion,
                LoginState(
                    account: consumed.account,
                    credential: consumed.credential,
                    sessions: answers[1],
                    auditHead: answers[0]
                )
            )
        )
    }

    private func complete(_ completion: LoginCompletion, _ state: LoginState) throws -> LoginOutcome {
        let id = completion.session.account
        var audit = completion.audit.of(id)
        audit.session = completion.session.id
        if case .credential(let use) = completion.method { audit.credential = use.id }
        guard let account = state.account else {
            // It would start a chain for an unknown account, so that clients could create chains by naming accounts.
            audit.account = nil
            try appendAudit(
                audit.saying(.loginFail, reason: LoginRefusal.noAccount.rawValue),
                now: completion.now
            )
            return .refused(.noAccount)
        }
        var renewed: (session: Session, epoch: Int64)?
        if completion.target != .newSession, var row = state.sessions.first {
            renewed = try Session.read(&row)
        }
        let refusal = try refusal(
            of: completion,
            account: account,
            credential: state.credential,
            renewed: renewed?.session
        )
        if let refusal {
            try appendAudit(
                refusal.events(on: audit, as: .loginFail),
                after: state.auditHead,
                now: completion.now
            )
            return .refused(refusal)
        }
        try reset(completion.resetting)
        try giveBack(completion.givingBack, now: completion.now)
        if case .password(_, let rehashed?) = completion.method {
            try execute(Statements.rehash, .of(id), .text(rehashed))
        }
        if case .renewal = completion.target, let renewed {
            return try renew(
                renewed.session,
                epoch: renewed.epoch + 1,
                completion,
                audit,
                head: state.auditHead
            )
        }
        if completion.method.formerCredentials == .end {
            let removed = try endCredentials(of: id)
            let events = removed.map { audit.saying(.credentialRemoved, reason: "recovery", credential: $0) }
            return try begin(completion, [audit] + events, beside: [], head: state.auditHead)
        }
        let others = try state.sessions.map { row in
            var row = row
            return try OtherSession(&row)
        }
        let events = [audit] + completion.method.changes(on: audit)
        return try begin(completion, events, beside: others, head: state.auditHead)
    }

    private func refusal(
        of completion: LoginCompletion,
        account: Account,
        credential: Credential?,
        renewed: Session?
    ) throws -> LoginRefusal? {
        guard account.lockedAt == nil else { return .accountLocked }
        if let proof = completion.proof, try takeProof(proof) == .replayed { return .proofReplayed }
        if case .renewal(let classes) = completion.target {
            guard let renewed, renewed.refreshExpiresAt > completion.now else { return .noSession }
            guard classes.contains(renewed.acr) else { return .weakerMethod }
        }
        if completion.tokens.needsKey, (renewed ?? completion.session).thumbprint == nil { return .noKey }
        switch completion.method {
        case .password(let checked, _):
            return account.password?.hash == checked ? nil : .passwordChanged
        case .link(let link):
            return try useLink(link.digest, of: account.id, now: completion.now) ? nil : .noLink
        case .recoveryCode(let digest, _):
            return try useRecoveryCode(digest, of: account.id) ? nil : .noRecoveryCode
        case .credential(let use):
            return try take(use, of: credential, now: completion.now)
        }
    }

    /// A new session; expired ones and the oldest beyond the limit are removed.
    private func begin(
        _ completion: LoginCompletion,
        _ events: [AuditEvent],
        beside others: [OtherSession],
        head: [SQLRow]
    ) throws -> LoginOutcome {
        let session = completion.session
        let over = others.filter { $0.end <= completion.now }
        let living = others.filter { $0.end > completion.now }
        let tooMany = max(living.count + 1 - Limits.sessions, 0)
        // Sorted only if needed: in most logins no session has to end.
        let ended =
            tooMany == 0 ? [] : living.sorted { $0.isOlder(than: $1) }.prefix(tooMany).map(\.id)
        for id in over.map(\.id) + ended { try removeSession(id, of: session.account) }
        try insert(session, epoch: 0)
        try insert(completion.tokens, of: session, epoch: 0)
        let exceeded = ended.map { id in
            var event = completion.audit.of(session.account).saying(.sessionsExceeded)
            if case .credential(let use) = completion.method { event.credential = use.id }
            event.session = id
            return event
        }
        try appendAudit(events + exceeded, after: head, now: completion.now)
        return .completed(session, ended: ended)
    }

    /// The existing session with new tokens; tokens with the old epoch are invalid.
    private func renew(
        _ old: Session,
        epoch: Int64,
        _ completion: LoginCompletion,
        _ audit: AuditEvent,
        head: [SQLRow]
    ) throws -> LoginOutcome {
        var session = old
        session.credential = completion.session.credential
        session.acr = completion.session.acr
        session.amr = completion.session.amr
        session.authTime = completion.session.authTime
        session.lastUsedAt = completion.now
        session.assurance = completion.session.assurance
        try execute(
            Statements.renew,
            .of(session.account),
            .of(session.id),
            .of(session.credential),
            .text(session.acr),
            .text(Words.join(session.amr)),
            .of(session.authTime),
            .of(session.lastUsedAt),
            .of(epoch),
            .text(Words.join(session.assurance))
        )
        try insert(completion.tokens, of: session, epoch: epoch)
        try appendAudit([audit] + completion.method.changes(on: audit), after: head, now: completion.now)
        return .completed(session, ended: [])
    }
}
