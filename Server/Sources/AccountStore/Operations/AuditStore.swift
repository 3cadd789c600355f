/// What happened, in chains.
///
/// A chain is an account's: each record has the hash of the one before it, and what happens to other accounts is neither
/// waited for nor read, so that no row is everybody's. Events without an account go to chains of the store's own, one for
/// each store that is open.
public protocol AuditStore: Sendable {
    /// Writes events where no other operation does.
    func record(_ events: [AuditEvent], now: Timestamp) async throws(StoreError)

    /// The records behind a position, in their order; fewer than asked for: there are no more.
    ///
    /// What is still being written by somebody else is not passed over: the page ends before it.
    func auditPage(after position: Int64, count: Int) async throws(StoreError) -> [AuditRecord]

    /// The records of one account behind a number, in their order.
    func auditPage(
        of account: AccountID,
        after sequence: Int64,
        count: Int
    ) async throws(StoreError) -> [AuditRecord]
}
