/// Transactions, which their owner confirms by a signature.
public protocol TransactionStore: Sendable {
    /// Stores a transaction for its owner to decide.
    ///
    /// - Throws: ``StoreError/Conflict/identifierTaken``; ``StoreError/Code/notFound`` when the account is gone.
    func createTransaction(
        _ transaction: Transaction,
        audit: AuditEvent
    ) async throws(StoreError)

    /// A transaction with its present status; nil: it does not exist.
    func transaction(_ id: TransactionID, now: Timestamp) async throws(StoreError) -> Transaction?

    /// The transactions that wait for their owner, oldest first, at most ``Limits/pendingTransactions``.
    func pendingTransactions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Transaction]

    /// Decides a transaction, once: of several decisions the first counts.
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

/// A decision on a transaction.
public enum TransactionDecision: Sendable, Equatable {
    /// Confirmed, and all checks passed.
    case approved(TransactionEvidence, CredentialUse)
    /// Rejected by the owner.
    case rejected
    /// A confirmation was invalid.
    case failed
}

/// The outcome of a decision.
public enum TransactionOutcome: Sendable, Equatable {
    /// The decision counts.
    case decided(Transaction)
    /// The transaction was decided already, or has expired.
    case notPending(Transaction.Status)
    /// The credential cannot confirm (any more); the transaction failed.
    case refused(LoginRefusal)
}
