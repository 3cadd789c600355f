/// Notices that wait for the mail hook; the events' own operations add them (``AuditEvent/notice``).
public protocol NoticeStore: Sendable {
    /// Takes notices that are due, oldest first; nobody else gets them until a time.
    ///
    /// - Parameters:
    ///   - count: the maximum number.
    ///   - lease: the time until which the caller delivers them.
    ///   - now: the current time.
    /// - Returns: the notices, with this attempt counted.
    /// - Throws: ``StoreError``.
    func takeNotices(
        count: Int,
        until lease: Timestamp,
        now: Timestamp
    ) async throws(StoreError) -> [Notice]

    /// Removes a notice that was delivered or given up; nothing happens if it is not there.
    func removeNotice(_ id: [UInt8]) async throws(StoreError)

    /// Makes a notice due again at a time.
    func postponeNotice(_ id: [UInt8], until time: Timestamp) async throws(StoreError)
}
