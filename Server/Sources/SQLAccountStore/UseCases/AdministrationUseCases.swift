internal import AccountStore

private enum Statements {
    static let insert = SQLStatement(insertInto: "accounts", Account.columns)
    static let page = SQLStatement(
        "SELECT \(Account.columns) FROM accounts WHERE username > $1 ORDER BY username LIMIT $2"
    )
    static let rename = SQLStatement("UPDATE accounts SET username = $2, display_name = $3 WHERE id = $1")
    static let lock = SQLStatement("UPDATE accounts SET locked_at = $2 WHERE id = $1")
    static let remove = SQLStatement("DELETE FROM accounts WHERE id = $1")
    /// Without one that may do everything, nobody could make another.
    static let anyAdmin = SQLStatement(
        "SELECT digest FROM admin_tokens WHERE role = '\(AdminRole.all.rawValue)' LIMIT 1"
    )
    static let offer = SQLStatement(
        """
        INSERT INTO first_admin (slot, digest, expires_at) VALUES (1, $1, $2)
        ON CONFLICT (slot) DO UPDATE SET digest = $1, expires_at = $2
        """
    )
    static let redeem = SQLStatement(
        "DELETE FROM first_admin WHERE digest = $1 AND expires_at > $2 RETURNING digest"
    )
    static let insertToken = SQLStatement(
        insertInto: "admin_tokens",
        AdminToken.columns,
        then: " ON CONFLICT (digest) DO NOTHING RETURNING digest"
    )
    static let token = SQLStatement("SELECT \(AdminToken.columns) FROM admin_tokens WHERE digest = $1")
    static let tokens = SQLStatement(
        "SELECT \(AdminToken.columns) FROM admin_tokens ORDER BY created_at, digest"
    )
    static let removeToken = SQLStatement("DELETE FROM admin_tokens WHERE digest = $1 RETURNING digest")
}

/// The length of an account's id; a shorter one could be mistaken for a chain of the store.
private let accountIDByteCounts = 16...64

extension SQLConnection {
    func createAccount(_ account: Account, audit: AuditEvent, now: Timestamp) throws {
        precondition(
            accountIDByteCounts.contains(account.id.bytes.count),
            "an account's id has 16 to 64 bytes"
        )
        guard try self.account(username: account.username) == nil else {
            throw StoreError(.conflict(.usernameTaken))
        }
        guard try self.account(account.id) == nil else { throw StoreError(.conflict(.accountExists)) }
        try execute(
            Statements.insert,
            .of(account.id),
            .text(account.username),
            .text(account.displayName),
            .of(account.createdAt),
            .of(account.lockedAt),
            .of(account.password?.hash),
            .of(account.password?.changedAt),
            .of(account.password?.mustChange ?? false)
        )
        // A notice has the names of the account.
        try appendAudit(audit.of(account.id), now: now)
    }

    func accounts(after username: String, count: Int) throws -> [Account] {
        try rows(Statements.page, .text(username), .of(count)).map { row in
            var row = row
            return try Account(&row)
        }
    }

    func renameAccount(
        _ id: AccountID,
        username: String,
        displayName: String,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        _ = try existingAccount(id)
        guard try account(username: username).map({ $0.id == id }) ?? true else {
            throw StoreError(.conflict(.usernameTaken))
        }
        try appendAudit(audit.of(id), now: now)
        try execute(Statements.rename, .of(id), .text(username), .text(displayName))
    }

    func setLocked(_ locked: Bool, account id: AccountID, audit: AuditEvent, now: Timestamp) throws {
        _ = try existingAccount(id)
        try execute(Statements.lock, .of(id), .of(locked ? now : nil))
        if locked {
            _ = try endSessions(of: id, except: nil)
            try removeLinks(of: id)
        }
        try appendAudit(audit.of(id), now: now)
    }

    func deleteAccount(_ id: AccountID, audit: AuditEvent, now: Timestamp) throws {
        _ = try existingAccount(id)
        _ = try endSessions(of: id, except: nil)
        try appendAudit(audit.of(id), now: now)
        try removeCredentials(of: id)
        try removeAttestedKeys(of: id)
        try removeLinks(of: id)
        try removeRecoveryCodes(of: id)
        try execute(Statements.remove, .of(id))
    }

    func offerFirstAdmin(_ token: TokenDigest, expiresAt: Timestamp) throws -> FirstAdminOffer {
        guard try row(Statements.anyAdmin) == nil else { return .alreadyThere }
        try execute(Statements.offer, .of(token), .of(expiresAt))
        return .offered
    }

    func redeemFirstAdmin(
        _ token: TokenDigest,
        for admin: AdminToken,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        guard try row(Statements.redeem, .of(token), .of(now)) != nil else {
            throw StoreError(.notFound, cause: "no such one-time token")
        }
        try addAdminToken(admin, audit: audit, now: now)
    }

    func addAdminToken(_ token: AdminToken, audit: AuditEvent, now: Timestamp) throws {
        guard try !rows([SQLQuery(Statements.insertToken, token.values)])[0].isEmpty else {
            throw StoreError(.conflict(.identifierTaken), cause: "admin token")
        }
        try appendAudit(audit, now: now)
    }

    func adminToken(_ digest: TokenDigest, now: Timestamp) throws -> AdminToken? {
        guard var row = try row(Statements.token, .of(digest)) else { return nil }
        let token = try AdminToken(&row)
        return token.expiresAt.map { $0 > now } ?? true ? token : nil
    }

    func adminTokens() throws -> [AdminToken] {
        try rows(Statements.tokens).map { row in
            var row = row
            return try AdminToken(&row)
        }
    }

    func removeAdminToken(_ digest: TokenDigest, audit: AuditEvent, now: Timestamp) throws {
        guard try row(Statements.removeToken, .of(digest)) != nil else {
            throw StoreError(.notFound, cause: "no such token")
        }
        try appendAudit(audit, now: now)
    }
}
