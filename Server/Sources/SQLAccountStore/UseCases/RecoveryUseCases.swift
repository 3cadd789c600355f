internal import AccountStore

private enum Statements {
    static let insertLink = SQLStatement(insertInto: "account_links", AccountLink.columns)
    static let replaceLink = SQLStatement("DELETE FROM account_links WHERE account = $1 AND kind = $2")
    static let link = SQLStatement("SELECT \(AccountLink.columns) FROM account_links WHERE digest = $1")
    static let linksOfAccount = SQLStatement(
        "SELECT \(AccountLink.columns) FROM account_links WHERE account = $1 ORDER BY created_at, digest"
    )
    static let removeLink = SQLStatement(
        "DELETE FROM account_links WHERE digest = $1 AND account = $2 RETURNING expires_at"
    )
    static let removeLinks = SQLStatement("DELETE FROM account_links WHERE account = $1")
    static let insertCode = SQLStatement(insertInto: "recovery_codes", "account, digest, created_at")
    static let useCode = SQLStatement(
        "DELETE FROM recovery_codes WHERE account = $1 AND digest = $2 RETURNING digest"
    )
    static let removeCodes = SQLStatement("DELETE FROM recovery_codes WHERE account = $1")
    static let codes = SQLStatement("SELECT created_at FROM recovery_codes WHERE account = $1")
}

extension SQLConnection {
    func issue(_ link: AccountLink, audit: AuditEvent, now: Timestamp) throws -> LinkIssue {
        guard try existingAccount(link.account).lockedAt == nil else { return .accountLocked }
        try execute(Statements.replaceLink, .of(link.account), .of(link.kind))
        try execute(SQLQuery(Statements.insertLink, link.values))
        try appendAudit(audit.of(link.account), now: now)
        return .issued
    }

    func link(_ digest: TokenDigest, now: Timestamp) throws -> AccountLink? {
        guard var row = try row(Statements.link, .of(digest)) else { return nil }
        let link = try AccountLink(&row)
        return link.expiresAt > now ? link : nil
    }

    func links(of account: AccountID, now: Timestamp) throws -> [AccountLink] {
        try rows(Statements.linksOfAccount, .of(account)).map { row in
            var row = row
            return try AccountLink(&row)
        }.filter { $0.expiresAt > now }
    }

    func revokeLink(_ digest: TokenDigest, of account: AccountID, audit: AuditEvent, now: Timestamp) throws {
        guard try useLink(digest, of: account, now: now) else {
            throw StoreError(.notFound, cause: "no such link")
        }
        try appendAudit(audit.of(account), now: now)
    }

    /// Removes a link.
    ///
    /// - Returns: whether it could be used until now.
    func useLink(_ digest: TokenDigest, of account: AccountID, now: Timestamp) throws -> Bool {
        guard var row = try row(Statements.removeLink, .of(digest), .of(account)) else { return false }
        return try row.time() > now
    }

    func removeLinks(of account: AccountID) throws {
        try execute(Statements.removeLinks, .of(account))
    }

    func replaceRecoveryCodes(
        by digests: [[UInt8]],
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        _ = try existingAccount(account)
        try removeRecoveryCodes(of: account)
        for digest in digests {
            try execute(Statements.insertCode, .of(account), .bytes(digest), .of(now))
        }
        try appendAudit(audit.of(account), now: now)
    }

    func recoveryCodes(of account: AccountID) throws -> RecoveryCodes {
        let times = try rows(Statements.codes, .of(account)).map { row in
            var row = row
            return try row.time()
        }
        return RecoveryCodes(left: times.count, createdAt: times.first)
    }

    /// Removes a recovery code.
    ///
    /// - Returns: whether the account had it.
    func useRecoveryCode(_ digest: [UInt8], of account: AccountID) throws -> Bool {
        try row(Statements.useCode, .of(account), .bytes(digest)) != nil
    }

    func removeRecoveryCodes(of account: AccountID) throws {
        try execute(Statements.removeCodes, .of(account))
    }

    /// Ends all that signs in to an account, and its sessions.
    ///
    /// - Returns: the credentials that there were.
    func endCredentials(of account: AccountID) throws -> [CredentialID] {
        let removed = try credentials(of: account).map(\.id)
        try removeCredentials(of: account)
        try setPassword(of: account, nil)
        try removeRecoveryCodes(of: account)
        try removeLinks(of: account)
        _ = try endSessions(of: account, except: nil)
        return removed
    }
}
