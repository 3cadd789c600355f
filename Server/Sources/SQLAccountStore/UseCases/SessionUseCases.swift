internal import AccountStore

private enum Statements {
    static let insert = SQLStatement(insertInto: "sessions", Session.columns)
    static let remove = SQLStatement("DELETE FROM sessions WHERE account = $1 AND id = $2 RETURNING id")
    static let removeOld = SQLStatement("DELETE FROM sessions WHERE account = $1 AND id = $2")
    static let removeOthers = SQLStatement(
        "DELETE FROM sessions WHERE account = $1 AND id <> $2 RETURNING id"
    )
    static let removeByCredential = SQLStatement(
        "DELETE FROM sessions WHERE account = $1 AND credential = $2 AND id <> $3"
    )
    static let endTask = SQLStatement(
        "DELETE FROM sessions WHERE account = $1 AND id = $2 AND task = $3 RETURNING id"
    )
    static let removeLimited = SQLStatement("DELETE FROM sessions WHERE account = $1 AND task IS NOT NULL")
    static let ofAccount = SQLStatement(
        "SELECT \(Session.columns) FROM sessions WHERE account = $1 ORDER BY created_at DESC, id"
    )
    static let insertAccess = SQLStatement(
        insertInto: "access_tokens",
        "digest, account, session, epoch, expires_at, audience, scope"
    )
    static let insertRefresh = SQLStatement(
        insertInto: "refresh_tokens",
        "digest, account, session, epoch, expires_at, parent, successor_used"
    )
    static let removeAccess = SQLStatement(
        "DELETE FROM access_tokens WHERE digest = $1 RETURNING account, session"
    )
    static let refreshToken = SQLStatement("SELECT account, session FROM refresh_tokens WHERE digest = $1")
    static let liveAccess = live("access_tokens", ", t.audience, t.scope")
    static let liveRefresh = live("refresh_tokens", ", t.parent, t.replaced_at, t.successor_used")

    /// A token, its session, and the account, in this order, if the token still belongs to the session.
    static func live(_ table: String, _ more: String) -> SQLStatement {
        func prefixed(_ columns: String, _ prefix: String) -> String {
            columns.split(separator: ", ").map { "\(prefix).\($0)" }.joined(separator: ", ")
        }
        return SQLStatement(
            """
            SELECT \(prefixed(Account.columns, "a")), \(prefixed(Session.columns, "s")), t.expires_at\(more)
            FROM \(table) t
            JOIN sessions s ON s.account = t.account AND s.id = t.session AND s.epoch = t.epoch
            JOIN accounts a ON a.id = t.account
            WHERE t.digest = $1
            """
        )
    }
}

extension SQLConnection {
    func insert(_ session: Session, epoch: Int64) throws {
        try execute(SQLQuery(Statements.insert, session.values(epoch: epoch)))
    }

    func insert(_ tokens: TokenPair, of session: Session, epoch: Int64) throws {
        try insertAccess(tokens, of: session, epoch: epoch)
        try insertRefresh(tokens.refresh, of: session, epoch: epoch, after: nil)
    }

    func insertAccess(_ tokens: TokenPair, of session: Session, epoch: Int64) throws {
        try execute(
            Statements.insertAccess,
            key(of: tokens.access),
            .of(session.account),
            .of(session.id),
            .of(epoch),
            .of(min(tokens.accessExpiresAt, session.expiresAt)),
            .of(tokens.grant?.audience),
            .of(tokens.grant?.scopeText)
        )
    }

    func insertRefresh(
        _ token: TokenDigest,
        of session: Session,
        epoch: Int64,
        after parent: TokenDigest?
    ) throws {
        try execute(
            Statements.insertRefresh,
            key(of: token),
            .of(session.account),
            .of(session.id),
            .of(epoch),
            .of(session.expiresAt),
            parent.map { key(of: $0) } ?? .null,
            .of(false)
        )
    }

    func removeSession(_ id: SessionID, of account: AccountID) throws {
        try execute(Statements.removeOld, .of(account), .of(id))
    }

    /// A refresh token that still belongs to a session, also a replaced or expired one.
    func refreshToken(_ token: TokenDigest) throws -> StoredRefreshToken? {
        guard var row = try row(Statements.liveRefresh, key(of: token)) else { return nil }
        let account = try Account(&row)
        let (session, epoch) = try Session.read(&row)
        _ = try row.integer()
        return StoredRefreshToken(
            account: account,
            session: session,
            epoch: epoch,
            parent: try row.optionalBytes().map { TokenDigest($0) },
            replacedAt: try row.optionalTime(),
            isSuccessorUsed: try row.flag()
        )
    }

    func liveSession(_ token: TokenDigest, _ kind: TokenKind, now: Timestamp) throws -> LiveSession? {
        let statement =
            switch kind {
            case .access: Statements.liveAccess
            case .refresh: Statements.liveRefresh
            }
        guard var row = try row(statement, key(of: token)) else { return nil }
        let account = try Account(&row)
        let (session, _) = try Session.read(&row)
        var end = try row.time()
        var grant: AudienceGrant?
        switch kind {
        case .access:
            if let audience = try row.optionalText() {
                let scope = try row.optionalText() ?? ""
                grant = AudienceGrant(audience: audience, scope: scope.split(separator: " ").map(String.init))
            }
        case .refresh:
            _ = try row.optionalBytes()
            // A replaced token opens nothing; ``SessionStore/refresh(_:)`` decides whether it gets a successor.
            guard try row.optionalTime() == nil else { return nil }
            end = session.refreshExpiresAt
        }
        guard end > now, session.expiresAt > now, account.lockedAt == nil else { return nil }
        return LiveSession(session: session, account: account, tokenExpiresAt: end, grant: grant)
    }

    func revoke(_ token: TokenDigest, _ kind: TokenKind, audit: AuditEvent, now: Timestamp) throws
        -> SessionID?
    {
        let statement =
            switch kind {
            case .access: Statements.removeAccess
            case .refresh: Statements.refreshToken
            }
        guard var row = try row(statement, key(of: token)) else { return nil }
        let account: AccountID = try row.id()
        let session: SessionID = try row.id()
        // Without its session a refresh token is invalid; a later purge removes it.
        if kind == .refresh, try self.row(Statements.remove, .of(account), .of(session)) == nil { return nil }
        var audit = audit.of(account)
        audit.session = session
        try appendAudit(audit, now: now)
        return session
    }

    func sessions(of account: AccountID, now: Timestamp) throws -> [Session] {
        try rows(Statements.ofAccount, .of(account)).map { row in
            var row = row
            return try Session.read(&row).session
        }.filter { $0.refreshExpiresAt > now }
    }

    func endSession(_ id: SessionID, of account: AccountID, audit: AuditEvent, now: Timestamp) throws {
        guard try row(Statements.remove, .of(account), .of(id)) != nil else {
            throw StoreError(.notFound, cause: "no such session")
        }
        var audit = audit.of(account)
        audit.session = id
        try appendAudit(audit, now: now)
    }

    func endSessions(of account: AccountID, except kept: SessionID?) throws -> Int {
        try rows(Statements.removeOthers, .of(account), .bytes(kept?.bytes ?? [])).count
    }

    func endSessions(
        of account: AccountID,
        except kept: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) throws -> Int {
        let count = try endSessions(of: account, except: kept)
        if count > 0 { try appendAudit(audit.of(account), now: now) }
        return count
    }

    /// Ends a limited session by what it was for; nil: the session is none.
    func end(_ task: SessionTask?, of session: SessionID?, of account: AccountID) throws {
        guard let task else { return }
        guard try row(Statements.endTask, .of(account), .of(session), .of(task)) != nil else {
            throw StoreError(.conflict(.sessionEnded), cause: task.rawValue)
        }
    }

    /// Ends the sessions that were only to set something up.
    func endLimitedSessions(of account: AccountID) throws {
        try execute(Statements.removeLimited, .of(account))
    }

    func endSessions(of account: AccountID, by credential: CredentialID, keeping kept: SessionID?) throws {
        try execute(Statements.removeByCredential, .of(account), .of(credential), .bytes(kept?.bytes ?? []))
    }
}

/// A refresh token with its session and account.
struct StoredRefreshToken {
    let account: Account
    let session: Session
    let epoch: Int64
    /// The token before it.
    let parent: TokenDigest?
    /// When its first successor was issued; nil: it has none.
    let replacedAt: Timestamp?
    /// Whether a successor was used: then the client knows that this token is not the latest.
    let isSuccessorUsed: Bool
}
