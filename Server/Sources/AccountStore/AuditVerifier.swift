/// Checks the chains of all records in a store, in portions, while servers may write to it.
///
/// It finds changed, inserted, exchanged and removed records between the first and the last one of each chain. The first
/// records of a chain may have expired, unless ``keepsAll``; that the last ones or a whole chain were removed only an
/// ``AuditHead`` shows.
public struct AuditVerifier: Sendable {
    private let store: any AuditStore
    /// Whether no record expires, so that each chain begins with number 1.
    private let keepsAll: Bool
    /// The number of records read at a time.
    private let portion: Int

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - store: where the records are.
    ///   - keepsAll: whether no record expires.
    ///   - portion: the number of records read at a time, at least 2.
    public init(_ store: any AuditStore, keepsAll: Bool, portion: Int = 1000) {
        precondition(portion >= 2)
        self.store = store
        self.keepsAll = keepsAll
        self.portion = portion
    }

    /// Reads all records, in the order of chain and number.
    ///
    /// - Parameter progress: gets the number of records that were checked, after each portion.
    /// - Returns: the number of records and chains, or the first flaw.
    /// - Throws: ``StoreError`` when the store cannot be read.
    public func verify(progress: (_ records: Int) -> Void = { _ in }) async throws(StoreError) -> AuditVerdict
    {
        var (records, chains) = (0, 0)
        var last: AuditRecord?
        while true {
            let page = try await store.auditPage(from: last?.place ?? .start, count: portion)
            // What the link of the next record is compared with.
            var before = last
            if let last, page.first != last {
                guard page.first?.place != last.place else { return .flawed(AuditFlaw(.changed, last)) }
                guard let next = page.first, try await haveExpired(until: last, next) else {
                    return .flawed(AuditFlaw(.missing, last))
                }
                before = nil
            }
            for record in page.dropFirst(last != nil && page.first?.place == last?.place ? 1 : 0) {
                if record.chain != last?.chain {
                    chains += 1
                    before = nil
                    guard !keepsAll || record.sequence == 1 else {
                        return .flawed(AuditFlaw(.beginningMissing, record))
                    }
                }
                switch AuditChain.fault(in: record, after: before) {
                case .changed: return .flawed(AuditFlaw(.changed, record))
                case .broken: return .flawed(AuditFlaw(.missingAfter, before ?? record))
                case nil: break
                }
                records += 1
                before = record
                last = record
            }
            progress(records)
            guard page.count == portion else { return .whole(records: records, chains: chains) }
        }
    }

    /// Whether a chain now begins after a record that was read, because it expired since then.
    private func haveExpired(until last: AuditRecord, _ next: AuditRecord) async throws(StoreError) -> Bool {
        guard !keepsAll, next.chain == last.chain else { return false }
        let first = try await store.auditPage(of: AccountID(last.chain), after: 0, count: 1).first
        return first.map { $0.sequence > last.sequence } ?? false
    }
}

/// What ``AuditVerifier`` found.
public enum AuditVerdict: Sendable, Equatable {
    /// So many records in so many chains, without a flaw.
    case whole(records: Int, chains: Int)
    /// The first flaw.
    case flawed(AuditFlaw)
}

/// A sign of tampering in the audit.
public struct AuditFlaw: Sendable, Equatable {
    /// The kind of flaw.
    public enum Kind: Sendable, Equatable {
        /// The record at the place was changed.
        case changed
        /// The record at the place, which was there, is not there any more.
        case missing
        /// The record after the one at the place is missing, or belongs to another history.
        case missingAfter
        /// Records before the one at the place are missing, though none expires.
        case beginningMissing
    }

    /// The kind.
    public let kind: Kind
    /// The chain and the number in it.
    public let place: AuditPlace
    /// The account whose chain it is; nil: a chain of the store.
    public let account: AccountID?
    /// The position among all records.
    public let position: Int64

    init(_ kind: Kind, _ record: AuditRecord) {
        self.kind = kind
        place = record.place
        account = record.event.account
        position = record.position
    }
}
