internal import CSQLite
internal import KeychainModel

/// A failed SQLite call.
struct SQLiteError: Error {
    /// The extended result code.
    let code: CInt

    init(_ code: CInt) { self.code = code }

    /// The error of the last call on a connection; nil stands for a closed one.
    init(of connection: OpaquePointer?) {
        code = unsafe connection == nil ? SQLITE_MISUSE : sqlite3_extended_errcode(connection)
    }
}

extension KeychainError {
    /// Converts a failure in the store to an error for the caller; a ``KeychainError`` stays as it is.
    init(inStore error: any Error) {
        if let error = error as? KeychainError {
            self = error
            return
        }
        guard let code = (error as? SQLiteError)?.code else {
            self.init(.internalComponent, cause: DriverCause(domain: "sqlite", code: "unknown"))
            return
        }
        let cause = DriverCause(domain: "sqlite", code: "\(code)")
        switch code & 0xFF {
        case SQLITE_FULL: self.init(.diskFull, cause: cause)
        case SQLITE_IOERR: self.init(.io, cause: cause)
        case SQLITE_READONLY, SQLITE_PERM: self.init(.readOnly, cause: cause)
        // Our statements and schema are valid, so SQLITE_ERROR means a file header that SQLite cannot process.
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_MISMATCH, SQLITE_ERROR: self = .damaged
        case SQLITE_NOMEM: self.init(.allocate, cause: cause)
        case SQLITE_CONSTRAINT: self.init(.duplicateItem, cause: cause)
        case SQLITE_TOOBIG: self.init(.dataTooLarge, cause: cause)
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CANTOPEN: self.init(.notAvailable, cause: cause)
        default: self.init(.internalComponent, cause: cause)
        }
    }
}
