package import AccountStore

extension SQLStore {
    package func registerCredential(
        _ credential: Credential,
        keeping session: SessionID?,
        task: SessionTask?,
        replacing replaced: CredentialID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> RegisteredCredential {
        try await engine.write(.serializable) {
            try $0.registerCredential(
                credential,
                keeping: session,
                task: task,
                replacing: replaced,
                audit: audit,
                now: now
            )
        }
    }

    package func endCredential(
        _ id: CredentialID,
        provedBy thumbprint: [UInt8],
        _ proof: ProofIdentifier,
        as reason: Credential.Suspension,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> ProofVerdict {
        try await engine.write(.serializable) {
            try $0.endCredential(id, provedBy: thumbprint, proof, as: reason, audit: audit, now: now)
        }
    }

    package func credentials(of account: AccountID) async throws(StoreError) -> [Credential] {
        try await engine.read { try $0.credentials(of: account) }
    }

    package func credential(_ id: CredentialID, of account: AccountID) async throws(StoreError) -> Credential?
    {
        try await engine.read { try $0.credential(id, of: account) }
    }

    package func renameCredential(
        _ id: CredentialID,
        of account: AccountID,
        label: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.renameCredential(id, of: account, label: label, audit: audit, now: now)
        }
    }

    package func removeCredential(
        _ id: CredentialID,
        of account: AccountID,
        keeping session: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.removeCredential(id, of: account, keeping: session, audit: audit, now: now)
        }
    }

    package func setSuspension(
        _ suspension: Credential.Suspension?,
        ofCredential id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) { connection in
            if let suspension {
                try connection.suspend(id, of: account, suspension, keeping: nil)
            } else {
                try connection.restore(id, of: account)
            }
            try connection.appendAudit(audit.of(account), now: now)
        }
    }

    package func restoreOwnCredential(
        _ id: CredentialID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.restoreOwnCredential(id, of: account, audit: audit, now: now)
        }
    }

    package func changePassword(
        of account: AccountID,
        checked: String?,
        to password: PasswordRecord?,
        keeping session: SessionID?,
        task: SessionTask?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.changePassword(
                of: account,
                checked: checked,
                to: password,
                keeping: session,
                task: task,
                audit: audit,
                now: now
            )
        }
    }
}

extension SQLStore {
    package func createAccount(_ account: Account, audit: AuditEvent, now: Timestamp) async throws(StoreError)
    {
        try await engine.write(.serializable) { try $0.createAccount(account, audit: audit, now: now) }
    }

    package func account(_ id: AccountID) async throws(StoreError) -> Account? {
        try await engine.read { try $0.account(id) }
    }

    package func account(username: String) async throws(StoreError) -> Account? {
        try await engine.read { try $0.account(username: username) }
    }

    package func accounts(after username: String, count: Int) async throws(StoreError) -> [Account] {
        try await engine.read { try $0.accounts(after: username, count: count) }
    }

    package func renameAccount(
        _ id: AccountID,
        username: String,
        displayName: String,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.renameAccount(id, username: username, displayName: displayName, audit: audit, now: now)
        }
    }

    package func setLocked(
        _ locked: Bool,
        account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.setLocked(locked, account: account, audit: audit, now: now)
        }
    }

    package func deleteAccount(_ id: AccountID, audit: AuditEvent, now: Timestamp) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.deleteAccount(id, audit: audit, now: now) }
    }

    package func offerFirstAdmin(
        _ token: TokenDigest,
        expiresAt: Timestamp,
        now: Timestamp
    ) async throws(StoreError) -> FirstAdminOffer {
        try await engine.write(.serializable) { try $0.offerFirstAdmin(token, expiresAt: expiresAt) }
    }

    package func redeemFirstAdmin(
        _ token: TokenDigest,
        for admin: AdminToken,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.redeemFirstAdmin(token, for: admin, audit: audit, now: now)
        }
    }

    package func addAdminToken(_ token: AdminToken, audit: AuditEvent, now: Timestamp)
        async throws(StoreError)
    {
        try await engine.write(.serializable) { try $0.addAdminToken(token, audit: audit, now: now) }
    }

    package func adminToken(_ digest: TokenDigest, now: Timestamp) async throws(StoreError) -> AdminToken? {
        try await engine.read { try $0.adminToken(digest, now: now) }
    }

    package func adminTokens() async throws(StoreError) -> [AdminToken] {
        try await engine.read { try $0.adminTokens() }
    }

    package func removeAdminToken(
        _ digest: TokenDigest,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.removeAdminToken(digest, audit: audit, now: now) }
    }
}
