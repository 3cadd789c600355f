/// What is confirmed by a signature.
public protocol TransactionStore: Sendable {
    /// Keeps a transaction that its owner is to decide.
    ///
    /// - Throws: ``StoreError/Conflict/identifierTaken``; ``StoreError/Code/notFound`` when the account is gone.
    func createTransaction(
        _ transaction: Transaction,
        audit: AuditEvent
    ) async throws(StoreError)

    /// A transaction, as it stands now; nil: there is none.
    func transaction(_ id: TransactionID, now: Timestamp) async throws(StoreError) -> Transaction?

    /// The transactions that wait for their owner, the oldest first, at most ``Limits/pendingTransactions``.
    func pendingTransactions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Transaction]

    /// Decides a transaction, once: of several who decide, one is first.
    ///
    /// - Throws: ``StoreError/Code/notFound`` when the account has no such transaction.
    func decideTransaction(
        _ id: TransactionID,
        of account: AccountID,
        _ decision: TransactionDecision,
        audit: AuditEvent,
        now: Timestamp
    ) async throws(StoreError) -> TransactionOutcome
}

/// How a transaction is decided.
public enum TransactionDecision: Sendable, Equatable {
    /// Confirmed, all checks passed.
    case approved(TransactionEvidence, CredentialUse)
    /// Its owner does not want it.
    case rejected
    /// A confirmation was not good.
    case failed
}

/// What became of a decision.
public enum TransactionOutcome: Sendable, Equatable {
    /// It counts.
    case decided(Transaction)
    /// Somebody was faster, or it is too late.
    case notPending(Transaction.Status)
    /// The credential does not confirm anything (any more); the transaction failed.
    case refused(LoginRefusal)
}
