package import AccountStore

/// A store that runs the use cases on an engine.
package struct SQLStore<Engine: SQLEngine>: AccountStore {
    let engine: Engine
    /// The query for an audit page that ends before records still being written, in the engine's SQL.
    let settledAudit: SQLStatement

    /// `settled` is the condition for positions below which nothing is still being written.
    package init(_ engine: Engine, settled: String) {
        self.engine = engine
        settledAudit = SQLStatement(
            "SELECT \(AuditRecord.columns) FROM audit WHERE position > $1 AND \(settled) ORDER BY position LIMIT $2"
        )
    }

    package var statistics: StoreStatistics { engine.statistics }

    package func close() async { await engine.close() }
}

extension SQLStore {
    package func checkReady(now: Timestamp) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.checkReady(now: now) }
    }

    package func sharedSecret(
        named name: String,
        proposing proposal: [UInt8]
    ) async throws(StoreError) -> [UInt8] {
        try await engine.write(.eachStatement) { try $0.sharedSecret(named: name, proposing: proposal) }
    }

    package func publish(_ key: PublishedKey) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.publish(key) }
    }

    package func publishedKeys(now: Timestamp) async throws(StoreError) -> [PublishedKey] {
        try await engine.read { try $0.publishedKeys(now: now) }
    }

    package func purge(
        from cursor: PurgeCursor?,
        _ settings: PurgeSettings,
        now: Timestamp
    ) async throws(StoreError) -> PurgeResult {
        try await engine.write(.eachStatement) { try $0.purge(from: cursor, settings, now: now) }
    }

    package func record(_ events: [AuditEvent], now: Timestamp) async throws(StoreError) {
        try await engine.write(.serializable) { connection in
            for event in events { try connection.appendAudit(event, now: now) }
        }
    }

    package func auditPage(after position: Int64, count: Int) async throws(StoreError) -> [AuditRecord] {
        let page = settledAudit
        return try await engine.read { try $0.auditPage(page, after: position, count: count) }
    }

    package func auditPage(
        of account: AccountID,
        after sequence: Int64,
        count: Int
    ) async throws(StoreError) -> [AuditRecord] {
        try await engine.read { try $0.auditPage(of: account, after: sequence, count: count) }
    }

    package func auditPage(from place: AuditPlace, count: Int) async throws(StoreError) -> [AuditRecord] {
        try await engine.read { try $0.auditPage(from: place, count: count) }
    }

    package func take(_ limits: [RateLimit], now: Timestamp) async throws(StoreError) -> LimitVerdict {
        try await engine.write(.eachStatement) { try $0.take(limits, now: now) }
    }

    package func takeAttempt(
        _ key: LimitKey,
        delay: @escaping @Sendable (_ failures: Int) -> Duration?,
        limits: [RateLimit],
        now: Timestamp
    ) async throws(StoreError) -> AttemptVerdict {
        try await engine.write(.serializable) {
            try $0.takeAttempt(key, delay: delay, limits: limits, now: now)
        }
    }

    package func giveBack(_ keys: [LimitKey], now: Timestamp) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.giveBack(keys, now: now) }
    }

    package func reset(_ keys: [LimitKey]) async throws(StoreError) {
        try await engine.write(.eachStatement) { try $0.reset(keys) }
    }

    package func takeProof(_ proof: ProofIdentifier, now: Timestamp) async throws(StoreError) -> ProofVerdict
    {
        try await engine.write(.singleCall) { try $0.takeProof(proof) }
    }
}

extension SQLStore {
    package func loginAccount(username: String) async throws(StoreError) -> AccountWithCredentials? {
        try await engine.read { try $0.loginAccount(username: username) }
    }

    package func openCeremony(
        _ ceremony: Ceremony,
        limits: [RateLimit],
        failures: FailureLimit?,
        now: Timestamp
    ) async throws(StoreError) -> LimitVerdict {
        try await engine.write(limits.count == 1 ? .singleCall : .eachStatement) {
            try $0.openCeremony(ceremony, limits: limits, failures: failures, now: now)
        }
    }

    package func consumeCeremony(
        _ id: CeremonyID,
        presenting credential: CredentialID?,
        now: Timestamp
    ) async throws(StoreError) -> ConsumedCeremony? {
        try await engine.write(.singleCall) {
            try $0.consumeCeremony(id, presenting: credential, now: now)
        }
    }

    package func openActivation(_ activation: Activation, now: Timestamp) async throws(StoreError) {
        try await engine.write(.singleCall) { try $0.openActivation(activation) }
    }

    package func consumeActivation(
        _ id: ActivationID,
        of account: AccountID,
        now: Timestamp
    ) async throws(StoreError) -> Activation? {
        try await engine.write(.singleCall) { try $0.consumeActivation(id, of: account, now: now) }
    }

    package func recordAttestationKey(
        _ key: AttestationKey,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.recordAttestationKey(key, audit: audit, now: now) }
    }

    package func attestationKey(
        certificateDigest: [UInt8],
        now: Timestamp
    ) async throws(StoreError) -> AttestationKey? {
        try await engine.read { try $0.attestationKey(certificateDigest: certificateDigest, now: now) }
    }
}

extension SQLStore {
    package func completeLogin(_ completion: LoginCompletion) async throws(StoreError) -> LoginOutcome {
        try await engine.write(.serializable) { try $0.completeLogin(completion) }
    }

    package func completeLogin<Refusal: Error>(
        by ceremony: CeremonyID,
        presenting credential: CredentialID,
        now: Timestamp,
        verify: @escaping @Sendable (ConsumedCeremony) throws(Refusal) -> LoginCompletion
    ) async throws(StoreError) -> CeremonyLogin<Refusal> {
        try await engine.write(.eachStatement) {
            try $0.completeLogin(by: ceremony, presenting: credential, now: now, verify: verify)
        }
    }

    package func liveSession(
        _ token: TokenDigest,
        _ kind: TokenKind,
        now: Timestamp
    ) async throws(StoreError) -> LiveSession? {
        try await engine.read { try $0.liveSession(token, kind, now: now) }
    }

    package func refresh(_ request: RefreshRequest) async throws(StoreError) -> RefreshOutcome {
        try await engine.write(.serializable) { try $0.refresh(request) }
    }

    package func revoke(
        _ token: TokenDigest,
        _ kind: TokenKind,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> SessionID? {
        try await engine.write(.serializable) { try $0.revoke(token, kind, audit: audit, now: now) }
    }

    package func sessions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Session] {
        try await engine.read { try $0.sessions(of: account, now: now) }
    }

    package func endSession(
        _ id: SessionID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.endSession(id, of: account, audit: audit, now: now) }
    }

    package func endSessions(
        of account: AccountID,
        except kept: SessionID?,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> Int {
        try await engine.write(.serializable) {
            try $0.endSessions(of: account, except: kept, audit: audit, now: now)
        }
    }
}

extension SQLStore {
    package func createTransaction(_ transaction: Transaction, audit: AuditEvent) async throws(StoreError) {
        try await engine.write(.serializable) { try $0.createTransaction(transaction, audit: audit) }
    }

    package func transaction(_ id: TransactionID, now: Timestamp) async throws(StoreError) -> Transaction? {
        try await engine.read { try $0.transaction(id, now: now) }
    }

    package func transactions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Transaction]
    {
        try await engine.read { try $0.transactions(of: account, now: now) }
    }

    package func pendingTransactions(of account: AccountID, now: Timestamp) async throws(StoreError)
        -> [Transaction]
    {
        try await engine.read { try $0.pendingTransactions(of: account, now: now) }
    }

    package func decideTransaction(
        _ id: TransactionID,
        of account: AccountID,
        presenting credential: CredentialID?,
        audit: AuditEvent,
        now: Timestamp,
        decide: @escaping @Sendable (Transaction, Credential?) -> TransactionDecision
    ) async throws(StoreError) -> TransactionOutcome {
        try await engine.write(.serializable) {
            try $0.decideTransaction(
                id,
                of: account,
                presenting: credential,
                audit: audit,
                now: now,
                decide: decide
            )
        }
    }
}
