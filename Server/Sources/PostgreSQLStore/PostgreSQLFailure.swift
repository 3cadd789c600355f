internal import AccountStore
internal import CPostgreSQL

/// What PostgreSQL said, or that it says nothing any more.
struct PostgreSQLFailure: Error {
    /// Five characters (PostgreSQL, appendix A); nil: there is no server at the other end, or none in time.
    let state: String?
    let message: String

    /// The server is not there, or not in time.
    static func lost(_ message: String) -> Self { Self(state: nil, message: message) }

    /// Whether nothing more is to be had of this connection.
    var endsConnection: Bool {
        guard let state else { return true }
        return state.hasPrefix("08") || state.hasPrefix("57P")
    }

    /// Whether others were in the way, and the same transaction may succeed now.
    ///
    /// A key that somebody else wrote at the same time is seen the second time, and is a conflict then.
    var isWorthRetrying: Bool {
        switch state {
        // serialization_failure, deadlock_detected, unique_violation
        case "40001", "40P01", "23505": true
        default: false
        }
    }

    /// What is to be done about it.
    var storeError: StoreError {
        let code: StoreError.Code =
            switch state {
            // disk_full
            case "53100": .full
            // read_only_sql_transaction
            case "25006": .readOnly
            // undefined_table, undefined_column
            case "42P01", "42703": .notMigrated
            // lock_not_available
            case "55P03": .overloaded
            case let state? where isWorthRetrying || state.hasPrefix("53"): .overloaded
            // data_corrupted, index_corrupted
            case let state? where state.hasPrefix("XX00") && state != "XX000": .damaged
            default: .unavailable
            }
        return StoreError(code, cause: "postgresql \(state ?? "-"): \(message)")
    }

    /// What anything that was thrown on a connection means.
    static func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as PostgreSQLFailure: error.storeError
        default: StoreError(.unavailable, cause: "\(error)")
        }
    }
}
