/// The audit, in hash chains.
///
/// Each account has a chain, in which a record contains the hash of the one before. Writing it neither waits for nor
/// reads other accounts' records, so that no row is shared by all. Events without an account go to chains of the store,
/// one for each open store.
public protocol AuditStore: Sendable {
    /// Writes events that no other operation writes.
    func record(_ events: [AuditEvent], now: Timestamp) async throws(StoreError)

    /// The records after a position, in order; fewer than requested: there are no more.
    ///
    /// A page ends before records that another process is still writing, so that none is skipped.
    func auditPage(after position: Int64, count: Int) async throws(StoreError) -> [AuditRecord]

    /// The records of one account after a sequence number, in order.
    func auditPage(
        of account: AccountID,
        after sequence: Int64,
        count: Int
    ) async throws(StoreError) -> [AuditRecord]

    /// The records of all chains from a place on, that of the place included, in the order of chain and number.
    func auditPage(from place: AuditPlace, count: Int) async throws(StoreError) -> [AuditRecord]
}
