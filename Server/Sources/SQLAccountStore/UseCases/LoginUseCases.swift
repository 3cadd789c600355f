internal import AccountStore

private enum Statements {
    static let account = SQLStatement("SELECT \(Account.columns) FROM accounts WHERE id = $1")
    /// When each session ends, the oldest first: all that a new one needs to know of the others.
    static let ends = SQLStatement(
        """
        SELECT id, expires_at, last_used_at, idle_lifetime FROM sessions WHERE account = $1 ORDER BY created_at, id
        """
    )
    static let session = SQLStatement(
        "SELECT \(Session.columns) FROM sessions WHERE account = $1 AND id = $2"
    )
    static let rehash = SQLStatement("UPDATE accounts SET password_hash = $2 WHERE id = $1")
    static let renew = SQLStatement(
        """
        UPDATE sessions SET credential = $3, acr = $4, amr = $5, auth_time = $6, last_used_at = $7, epoch = $8
        WHERE account = $1 AND id = $2
        """
    )
}

extension LoginRefusal {
    /// What the audit says of it.
    func events(on occasion: AuditEvent, as name: AuditEvent.Name) -> [AuditEvent] {
        let failure = occasion.saying(name, reason: rawValue)
        guard self == .clonedCounter else { return [failure] }
        return [failure, occasion.saying(.credentialSuspended, reason: rawValue)]
    }
}

extension SQLConnection {
    func completeLogin(_ completion: LoginCompletion) throws -> LoginOutcome {
        let id = completion.session.account
        var audit = completion.audit.of(id)
        audit.session = completion.session.id
        var queries = [
            SQLQuery(Statements.account, [.of(id)]),
            completion.target == .renewal
                ? SQLQuery(Statements.session, [.of(id), .of(completion.session.id)])
                : SQLQuery(Statements.ends, [.of(id)]),
            auditHead(of: audit),
        ]
        if case .credential(let use) = completion.method {
            audit.credential = use.id
            queries.append(credentialQuery(use.id, of: id))
        }
        let answers = try rows(queries)
        guard var row = answers[0].first else {
            // Its chain would be a stranger's, and nobody could begin one by naming accounts.
            audit.account = nil
            try appendAudit(
                audit.saying(.loginFail, reason: LoginRefusal.noAccount.rawValue),
                now: completion.now
            )
            return .refused(.noAccount)
        }
        var renewed: (session: Session, epoch: Int64)?
        if completion.target == .renewal, var row = answers[1].first { renewed = try Session.read(&row) }
        let refusal = try refusal(
            of: completion,
            account: try Account(&row),
            credential: answers.count > 3 ? answers[3].first : nil,
            renewed: renewed?.session
        )
        if let refusal {
            try appendAudit(
                refusal.events(on: audit, as: .loginFail),
                after: answers[2],
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
            return try renew(renewed.session, epoch: renewed.epoch + 1, completion, audit, head: answers[2])
        }
        let others = try answers[1].map { row in
            var row = row
            let id: SessionID = try row.id()
            let end = try row.time()
            return (id: id, end: min(end, try row.time() + row.duration()))
        }
        return try begin(completion, audit, beside: others, head: answers[2])
    }

    private func refusal(
        of completion: LoginCompletion,
        account: Account,
        credential: SQLRow?,
        renewed: Session?
    ) throws -> LoginRefusal? {
        guard account.lockedAt == nil else { return .accountLocked }
        if let proof = completion.proof, try takeProof(proof) == .replayed { return .proofReplayed }
        if case .renewal = completion.target {
            guard let renewed, renewed.refreshExpiresAt > completion.now else { return .noSession }
        }
        switch completion.method {
        case .password(let checked, _):
            return account.password?.hash == checked ? nil : .passwordChanged
        case .credential(let use):
            guard var credential else { return .noCredential }
            return try take(use, of: try Credential(&credential), now: completion.now)
        }
    }

    /// A session of its own; those that are over and the oldest beyond the limit make room.
    private func begin(
        _ completion: LoginCompletion,
        _ audit: AuditEvent,
        beside others: [(id: SessionID, end: Timestamp)],
        head: [SQLRow]
    ) throws -> LoginOutcome {
        let session = completion.session
        let over = others.filter { $0.end <= completion.now }
        let living = others.filter { $0.end > completion.now }
        let ended = living.prefix(max(living.count + 1 - Limits.sessions, 0)).map(\.id)
        for id in over.map(\.id) + ended { try removeSession(id, of: session.account) }
        try insert(session, epoch: 0)
        try insert(completion.tokens, of: session, epoch: 0)
        var events = [audit]
        for id in ended {
            var event = audit.saying(.sessionsExceeded)
            event.session = id
            events.append(event)
        }
        try appendAudit(events, after: head, now: completion.now)
        return .completed(session, ended: ended)
    }

    /// The session that was there, with new tokens; those with the old epoch are worth nothing.
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
        try execute(
            Statements.renew,
            .of(session.account),
            .of(session.id),
            .of(session.credential),
            .text(session.acr),
            .text(Words.join(session.amr)),
            .of(session.authTime),
            .of(session.lastUsedAt),
            .of(epoch)
        )
        try insert(completion.tokens, of: session, epoch: epoch)
        try appendAudit([audit], after: head, now: completion.now)
        return .completed(session, ended: [])
    }
}
