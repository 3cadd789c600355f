internal import AccountStore
internal import CPostgreSQL

/// An error of PostgreSQL, or the loss of its connection.
struct PostgreSQLFailure: Error {
    /// The SQLSTATE, five characters (PostgreSQL, appendix A); nil: the server is unreachable, or did not answer in
    /// time.
    let state: String?
    let message: String

    /// The server is unreachable, or did not answer in time.
    static func lost(_ message: String) -> Self { Self(state: nil, message: message) }

    /// Whether the connection is unusable afterwards.
    var endsConnection: Bool {
        guard let state else { return true }
        return state.hasPrefix("08") || state.hasPrefix("57P")
    }

    /// Whether the server's prepared statements are not those of this connection: a pooler gives each transaction another
    /// of its connections.
    var isFromPooler: Bool {
        // duplicate_prepared_statement, invalid_sql_statement_name
        state == "42P05" || state == "26000"
    }

    /// Whether the error is a conflict with concurrent transactions, and the same transaction may succeed now.
    ///
    /// If a concurrent transaction wrote the same key, the second try sees it and reports a conflict.
    var isWorthRetrying: Bool {
        switch state {
        // serialization_failure, deadlock_detected, unique_violation
        case "40001", "40P01", "23505": true
        default: false
        }
    }

    /// The error for the caller.
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

    /// The error for the caller, for anything thrown on a connection.
    static func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as PostgreSQLFailure: error.storeError
        default: StoreError(.unavailable, cause: "\(error)")
        }
    }
}
