internal import AccountStore

private enum Statements {
    static let ofAccount = SQLStatement(
        "SELECT \(Credential.columns) FROM credentials WHERE account = $1 ORDER BY created_at, id"
    )
    static let one = SQLStatement(
        "SELECT \(Credential.columns) FROM credentials WHERE id = $1 AND account = $2"
    )
    static let exists = SQLStatement("SELECT id FROM credentials WHERE id = $1")
    static let ofDevice = SQLStatement(
        "SELECT account, suspension FROM credentials WHERE id = $1 AND thumbprint = $2"
    )
    static let insert = SQLStatement(insertInto: "credentials", Credential.columns)
    static let rename = SQLStatement(
        "UPDATE credentials SET label = $3 WHERE id = $1 AND account = $2 RETURNING id"
    )
    static let remove = SQLStatement("DELETE FROM credentials WHERE id = $1 AND account = $2 RETURNING id")
    static let suspend = SQLStatement(
        "UPDATE credentials SET suspension = $3 WHERE id = $1 AND account = $2 RETURNING id"
    )
    static let restore = SQLStatement(
        """
        UPDATE credentials SET suspension = NULL,
            sign_count = CASE WHEN suspension IS NULL OR suspension = $3 THEN 0 ELSE sign_count END
        WHERE id = $1 AND account = $2 RETURNING id
        """
    )
    static let used = SQLStatement(
        """
        UPDATE credentials SET sign_count = $2, uv_initialized = $3, backup_eligible = $4, backup_state = $5,
            last_used_at = $6, statement = COALESCE($7, statement)
        WHERE id = $1
        """
    )
    static let setPassword = SQLStatement(
        """
        UPDATE accounts SET password_hash = $2, password_changed_at = $3, password_must_change = $4 WHERE id = $1
        """
    )
    static let removeAll = SQLStatement("DELETE FROM credentials WHERE account = $1")
}

extension SQLConnection {
    func credentials(of account: AccountID) throws -> [Credential] {
        try rows(Statements.ofAccount, .of(account)).map { row in
            var row = row
            return try Credential(&row)
        }
    }

    /// The query for a credential of an account, to send along with others.
    func credentialQuery(_ id: CredentialID, of account: AccountID) -> SQLQuery {
        SQLQuery(Statements.one, [.of(id), .of(account)])
    }

    func credential(_ id: CredentialID, of account: AccountID) throws -> Credential? {
        guard var row = try rows([credentialQuery(id, of: account)])[0].first else { return nil }
        return try Credential(&row)
    }

    func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        task: SessionTask?,
        replacing replaced: CredentialID?,
        audit: AuditEvent,
        now: Timestamp
    ) throws -> RegisteredCredential {
        _ = try existingAccount(credential.account)
        try end(task, of: session, of: credential.account)
        guard try row(Statements.exists, .of(credential.id)) == nil else {
            throw StoreError(.conflict(.credentialExists))
        }
        let others = try credentials(of: credential.account)
        guard others.count < Limits.credentials else { throw StoreError(.conflict(.tooManyCredentials)) }
        func isReplaced(_ other: Credential) -> Bool {
            other.id == replaced && credential.thumbprint != nil && other.thumbprint == credential.thumbprint
        }
        let superseded = others.filter { other in
            other.suspension == nil && !isReplaced(other)
                && (other.deviceAnchor.map { $0 == credential.deviceAnchor } ?? false
                    || other.thumbprint.map { $0 == credential.thumbprint } ?? false)
        }
        var events = [audit.of(credential.account)]
        events[0].credential = credential.id
        for other in superseded {
            try suspend(other.id, of: credential.account, .superseded, keeping: session)
            events.append(
                events[0].saying(
                    .credentialSuspended,
                    reason: Credential.Suspension.superseded.rawValue,
                    credential: other.id
                )
            )
        }
        let head = try rows([auditHead(of: events[0])])[0]
        // A device that is set up again keeps its label: what it supersedes does not count.
        let ended = Set(superseded.map(\.id))
        let remaining = others.filter {
            $0.suspension != .superseded && !ended.contains($0.id) && !isReplaced($0)
        }
        var labelled = credential
        labelled.label = Credential.distinct(credential.label, among: remaining.map(\.label))
        try execute(SQLQuery(Statements.insert, labelled.values))
        try endLimitedSessions(of: credential.account)
        try appendAudit(events, after: head, now: now)
        return RegisteredCredential(credential: labelled, superseded: superseded.map(\.id))
    }

    func endCredential(
        _ id: CredentialID,
        provedBy thumbprint: [UInt8],
        _ proof: ProofIdentifier,
        as reason: Credential.Suspension,
        audit: AuditEvent,
        now: Timestamp
    ) throws -> ProofVerdict {
        guard try takeProof(proof) == .fresh else { return .replayed }
        guard var row = try row(Statements.ofDevice, .of(id), .bytes(thumbprint)) else {
            throw StoreError(.notFound, cause: "no such credential of the device")
        }
        let account: AccountID = try row.id()
        let suspension: Credential.Suspension? = try row.optionalWord()
        guard suspension == nil else { return .fresh }
        try suspend(id, of: account, reason, keeping: nil)
        try appendAudit(audit.of(account), now: now)
        return .fresh
    }

    /// Suspends a credential and ends the sessions that it signed in.
    func suspend(
        _ id: CredentialID,
        of account: AccountID,
        _ suspension: Credential.Suspension,
        keeping session: SessionID?
    ) throws {
        guard try row(Statements.suspend, .of(id), .of(account), .of(suspension)) != nil else {
            throw StoreError(.notFound, cause: "no such credential")
        }
        try endSessions(of: account, by: id, keeping: session)
    }

    /// Restores a credential; a counter that was refused is forgotten, so that the next use sets it.
    func restore(_ id: CredentialID, of account: AccountID) throws {
        let restored = try row(
            Statements.restore,
            .of(id),
            .of(account),
            .of(Credential.Suspension.clonedCounter)
        )
        guard restored != nil else { throw StoreError(.notFound, cause: "no such credential") }
    }

    func restoreOwnCredential(
        _ id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        guard let stored = try credential(id, of: account) else {
            throw StoreError(.notFound, cause: "no such credential")
        }
        guard stored.suspension == nil || stored.suspension == .clonedCounter else {
            throw StoreError(.conflict(.suspendedForOtherReason))
        }
        try restore(id, of: account)
        try appendAudit(audit.of(account), now: now)
    }

    func renameCredential(
        _ id: CredentialID,
        of account: AccountID,
        label: String,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        let others = try credentials(of: account).filter { $0.id != id }
        let label = Credential.distinct(label, among: others.map(\.label))
        guard try row(Statements.rename, .of(id), .of(account), .text(label)) != nil else {
            throw StoreError(.notFound, cause: "no such credential")
        }
        try appendAudit(audit.of(account), now: now)
    }

    func removeCredential(
        _ id: CredentialID,
        of account: AccountID,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        guard try row(Statements.remove, .of(id), .of(account)) != nil else {
            throw StoreError(.notFound, cause: "no such credential")
        }
        try endSessions(of: account, by: id, keeping: session)
        try appendAudit(audit.of(account), now: now)
    }

    func changePassword(
        of id: AccountID,
        checked: String?,
        to password: PasswordRecord?,
        keeping session: SessionID?,
        task: SessionTask?,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        guard try existingAccount(id).password?.hash == checked else {
            throw StoreError(.conflict(.passwordChanged))
        }
        try end(task, of: session, of: id)
        try setPassword(of: id, password)
        _ = try endSessions(of: id, except: session)
        try endLimitedSessions(of: id)
        try appendAudit(audit.of(id), now: now)
    }

    func removeCredentials(of account: AccountID) throws {
        try execute(Statements.removeAll, .of(account))
    }

    func setPassword(of id: AccountID, _ password: PasswordRecord?) throws {
        try execute(
            Statements.setPassword,
            .of(id),
            .of(password?.hash),
            .of(password?.changedAt),
            .of(password?.mustChange ?? false)
        )
    }

    /// Why the credential is refused by its stored state (nil: it is accepted).
    ///
    /// A counter that did not grow is refused. Only where it must come from a copy is the credential suspended: not if
    /// another ceremony ended since this one was opened, whose responses may arrive in any order, and not for a
    /// credential that may be backed up, since its copies share no counter.
    func take(_ use: CredentialUse, of stored: Credential?, now: Timestamp) throws -> LoginRefusal? {
        guard let stored else { return .noCredential }
        guard stored.suspension == nil else { return .credentialSuspended }
        // WebAuthn Level 3, section 7.2: if either counter is not zero, it must grow.
        if use.signCount != 0 || stored.signCount != 0, use.signCount <= stored.signCount {
            let isAsOpened = (stored.lastUsedAt ?? stored.createdAt) <= use.openedAt
            guard isAsOpened, !stored.backupEligible, !use.backupEligible else { return .counterNotGrown }
            try suspend(stored.id, of: stored.account, .clonedCounter, keeping: nil)
            return .clonedCounter
        }
        try execute(
            Statements.used,
            .of(stored.id),
            .of(use.signCount),
            .of(stored.uvInitialized || use.userVerified),
            .of(use.backupEligible),
            .of(use.backupState),
            .of(now),
            .of(use.statement)
        )
        return nil
    }
}
