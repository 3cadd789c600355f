internal import AccountStore
internal import GRDB
internal import GRDBSQLite

/// An error of SQLite, by its extended result code.
struct SQLiteFailure: Error {
    let code: CInt
    let message: String

    /// The error for the caller.
    var storeError: StoreError {
        let code: StoreError.Code =
            switch code & 0xFF {
            case SQLITE_FULL: .full
            case SQLITE_READONLY, SQLITE_PERM: .readOnly
            case SQLITE_BUSY, SQLITE_LOCKED: .overloaded
            case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .damaged
            default: .unavailable
            }
        return StoreError(code, cause: "sqlite \(self.code): \(message)")
    }

    /// The error for the caller, for anything thrown on a connection.
    static func storeError(_ error: any Error) -> StoreError {
        switch error {
        case let error as StoreError: error
        case let error as SQLiteFailure: error.storeError
        case let error as DatabaseError:
            SQLiteFailure(
                code: error.extendedResultCode.rawValue,
                message: error.message ?? ""
            ).storeError
        default: StoreError(.unavailable, cause: "\(error)")
        }
    }
}
