internal import AccountStore

private enum Statements {
    static let insert = SQLStatement(
        insertInto: "transactions",
        "id, account, type, details, nonce, options, created_at, expires_at, status",
        then: " ON CONFLICT (id) DO NOTHING RETURNING id"
    )
    static let one = SQLStatement("SELECT \(Transaction.columns) FROM transactions WHERE id = $1")
    static let pending = SQLStatement(
        """
        SELECT \(Transaction.columns) FROM transactions WHERE account = $1 AND status = $2 AND expires_at > $3
        ORDER BY created_at, id LIMIT \(Limits.pendingTransactions)
        """
    )
    static let ofAccount = SQLStatement(
        """
        SELECT \(Transaction.columns) FROM transactions WHERE account = $1
        ORDER BY created_at DESC, id LIMIT \(Limits.exportedTransactions + 1)
        """
    )
    static let decide = SQLStatement(
        """
        UPDATE transactions SET status = $2, decided_at = $3, credential = $4, public_key = $5, client_data = $6,
            authenticator_data = $7, signature = $8
        WHERE id = $1
        """
    )
}

extension SQLConnection {
    func createTransaction(_ transaction: Transaction, audit: AuditEvent) throws {
        _ = try existingAccount(transaction.account)
        let added = try rows(
            Statements.insert,
            .of(transaction.id),
            .of(transaction.account),
            .text(transaction.type),
            .text(transaction.details),
            .bytes(transaction.nonce),
            .text(transaction.options),
            .of(transaction.createdAt),
            .of(transaction.expiresAt),
            .of(Transaction.Status.pending)
        )
        guard !added.isEmpty else { throw StoreError(.conflict(.identifierTaken), cause: "transaction") }
        try appendAudit(audit.of(transaction.account), now: transaction.createdAt)
    }

    func transaction(_ id: TransactionID, now: Timestamp) throws -> Transaction? {
        guard var row = try row(Statements.one, .of(id)) else { return nil }
        return try Transaction(&row, now: now)
    }

    func transactions(of account: AccountID, now: Timestamp) throws -> [Transaction] {
        try rows(Statements.ofAccount, .of(account)).map { row in
            var row = row
            return try Transaction(&row, now: now)
        }
    }

    func pendingTransactions(of account: AccountID, now: Timestamp) throws -> [Transaction] {
        let rows = try rows(
            Statements.pending,
            .of(account),
            .of(Transaction.Status.pending),
            .of(now)
        )
        return try rows.map { row in
            var row = row
            return try Transaction(&row, now: now)
        }
    }

    func decideTransaction(
        _ id: TransactionID,
        of account: AccountID,
        presenting presented: CredentialID?,
        audit: AuditEvent,
        now: Timestamp,
        decide: (Transaction, Credential?) -> TransactionDecision
    ) throws -> TransactionOutcome {
        guard var transaction = try transaction(id, now: now), transaction.account == account else {
            throw StoreError(.notFound, cause: "no such transaction")
        }
        guard transaction.status == .pending else { return .notPending(transaction.status) }
        let credential = try presented.flatMap { try self.credential($0, of: account) }
        var event = audit.of(account)
        event.credential = credential?.id
        let events: [AuditEvent]
        var refusal: LoginRefusal?
        switch decide(transaction, credential) {
        case .rejected:
            transaction.status = .rejected
            events = [event.saying(.transactionRejected)]
        case .failed(let reason, let details):
            transaction.status = .failed
            event.details = details
            events = [event.saying(.transactionFailed, reason: reason)]
        case .insufficient(let reason, let details):
            event.details = details
            try appendAudit(event.saying(.transactionFailed, reason: reason), now: now)
            return .insufficient
        case .approved(let evidence, let use):
            let holder = try self.account(account)
            refusal =
                holder == nil
                ? .noAccount
                : holder?.lockedAt != nil ? .accountLocked : try take(use, of: credential, now: now)
            if let refusal {
                transaction.status = .failed
                events = refusal.events(on: event, as: .transactionFailed)
            } else {
                transaction.status = .approved
                transaction.evidence = evidence
                events = [event.saying(.transactionApproved)] + use.changes(on: event)
            }
        }
        transaction.decidedAt = now
        let evidence = transaction.evidence
        try appendAudit(events, after: rows([auditHead(of: events[0])])[0], now: now)
        try execute(
            Statements.decide,
            .of(id),
            .of(transaction.status),
            .of(now),
            .of(evidence?.credential),
            .of(evidence?.publicKey),
            .of(evidence?.clientDataJSON),
            .of(evidence?.authenticatorData),
            .of(evidence?.signature)
        )
        return refusal.map { .refused($0) } ?? .decided(transaction)
    }
}
