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

    /// The transactions of an account that are kept, newest first, at most ``Limits/exportedTransactions`` and one more.
    func transactions(of account: AccountID, now: Timestamp) async throws(StoreError) -> [Transaction]

    /// Decides a transaction, once: of several decisions the first counts.
    ///
    /// One transaction of the database reads status and credential, verifies, and decides, so that a confirmation that
    /// arrives twice is verified once. `decide` is called only if the transaction is pending; it must have no side
    /// effects, because it is called again if the transaction is repeated.
    ///
    /// - Parameters:
    ///   - id: the transaction.
    ///   - account: its owner.
    ///   - credential: the confirming credential, which `decide` gets if the account has it; nil: none.
    ///   - audit: the occasion; the store sets name, reason and credential by the decision.
    ///   - now: the current time.
    ///   - decide: makes the decision.
    /// - Returns: the outcome.
    /// - Throws: ``StoreError/Code/notFound`` when the account has no such transaction.
    func decideTransaction(
        _ id: TransactionID,
        of account: AccountID,
        presenting credential: CredentialID?,
        audit: AuditEvent,
        now: Timestamp,
        decide: @escaping @Sendable (Transaction, Credential?) -> TransactionDecision
    ) async throws(StoreError) -> TransactionOutcome
}

/// A decision on a transaction.
public enum TransactionDecision: Sendable, Equatable {
    /// Confirmed, and all checks passed.
    case approved(TransactionEvidence, CredentialUse)
    /// Rejected by the owner.
    case rejected
    /// A confirmation was invalid, for this reason; the details are JSON for the audit record, or empty.
    case failed(reason: String, details: String)
    /// A valid confirmation is not worth enough, as the details say in JSON: the transaction stays pending.
    case insufficient(reason: String, details: String)
}

/// The outcome of a decision.
public enum TransactionOutcome: Sendable, Equatable {
    /// The decision counts.
    case decided(Transaction)
    /// The transaction was decided already, or has expired.
    case notPending(Transaction.Status)
    /// The credential cannot confirm (any more); the transaction failed.
    case refused(LoginRefusal)
    /// The confirmation was not worth enough; the transaction is pending.
    case insufficient
}
