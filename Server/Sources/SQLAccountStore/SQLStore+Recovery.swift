package import AccountStore

extension SQLStore {
    package func issue(
        _ link: AccountLink,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> LinkIssue {
        try await engine.write(.serializable) { try $0.issue(link, audit: audit, now: now) }
    }

    package func link(_ digest: TokenDigest, now: Timestamp) async throws(StoreError) -> AccountLink? {
        try await engine.read { try $0.link(digest, now: now) }
    }

    package func links(of account: AccountID, now: Timestamp) async throws(StoreError) -> [AccountLink] {
        try await engine.read { try $0.links(of: account, now: now) }
    }

    package func revokeLink(
        _ digest: TokenDigest,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.revokeLink(digest, of: account, audit: audit, now: now)
        }
    }

    package func replaceRecoveryCodes(
        by digests: [[UInt8]],
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) {
            try $0.replaceRecoveryCodes(by: digests, of: account, audit: audit, now: now)
        }
    }

    package func recoveryCodes(of account: AccountID) async throws(StoreError) -> RecoveryCodes {
        try await engine.read { try $0.recoveryCodes(of: account) }
    }
}
