package import AccountStore

extension SQLStore {
    package func addAttestedKey(
        _ key: AttestedKey,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.addAttestedKey(key, audit: audit, now: now) }
    }

    package func attestedKeys(of account: AccountID) async throws(StoreError) -> [AttestedKey] {
        try await engine.read { try $0.attestedKeys(of: account) }
    }

    package func removeAttestedKey(
        _ id: AttestedKeyID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.removeAttestedKey(id, of: account, audit: audit, now: now)
        }
    }
}
