internal import Synchronization

/// Whether the connections of a store prepare their statements: each statement once, or none, once a pooler in transaction
/// mode was found.
///
/// Such a pooler gives each transaction any of its server's connections. What one transaction prepared there is missing in
/// the next, or is there although another client prepared it.
final class StatementPreparation: Sendable {
    private let isOff: Atomic<Bool>
    private let notice: @Sendable (String) -> Void

    /// - Parameters:
    ///   - isPossible: false: no statement is prepared.
    ///   - notice: gets a message for the log, at most once.
    init(isPossible: Bool = true, notice: @escaping @Sendable (String) -> Void) {
        isOff = Atomic(!isPossible)
        self.notice = notice
    }

    /// Whether statements can be prepared.
    var isPossible: Bool { !isOff.load(ordering: .relaxed) }

    /// Notes that they cannot.
    func found(_ failure: PostgreSQLFailure) {
        guard isOff.compareExchange(expected: false, desired: true, ordering: .relaxed).exchanged else {
            return
        }
        notice(
            "there is a pooler in transaction mode before PostgreSQL (\(failure.state ?? "-"): \(failure.message)): "
                + "statements are no longer prepared, which costs time; session mode has no such cost"
        )
    }
}
