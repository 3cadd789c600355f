internal import CSQLite

/// A prepared statement that lends SQLite's own bytes, without copies or an object per row.
///
/// Those would cost more than finding and opening an item.
@safe
final class ItemStatement {
    /// The size in bytes of a place, sufficient for digests and references.
    private static let placeByteCount = 16

    private let handle: OpaquePointer
    /// A place for each short value, which SQLite reads without a copy of its own.
    private let places: UnsafeMutableRawBufferPointer

    /// Compiles one statement; it must be released before its connection is closed.
    init(_ sql: String, on connection: OpaquePointer?) throws {
        var handle: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let result = unsafe sqlite3_prepare_v3(connection, sql, -1, flags, &handle, nil)
        guard result == SQLITE_OK, let handle = unsafe handle else {
            throw unsafe SQLiteError(of: connection)
        }
        unsafe self.handle = handle
        let count = unsafe Int(sqlite3_bind_parameter_count(handle))
        unsafe places = .allocate(byteCount: count * Self.placeByteCount, alignment: 8)
    }

    deinit {
        unsafe sqlite3_finalize(handle)
        unsafe places.deallocate()
    }

    // MARK: Values to bind, from 1

    func bind(_ index: CInt, _ octets: UnsafeRawBufferPointer) {
        guard octets.count > Self.placeByteCount else {
            let start = (Int(index) - 1) * Self.placeByteCount
            let place = unsafe UnsafeMutableRawBufferPointer(rebasing: places[start...])
            unsafe place.copyMemory(from: octets)
            unsafe sqlite3_bind_blob64(handle, index, place.baseAddress, UInt64(octets.count), nil)
            return
        }
        // SQLite makes a copy.
        let transient = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        unsafe sqlite3_bind_blob64(handle, index, octets.baseAddress, UInt64(octets.count), transient)
    }

    func bind(_ index: CInt, _ octets: [UInt8]?) {
        guard let octets else { return bindNull(index) }
        unsafe octets.withUnsafeBytes { unsafe bind(index, $0) }
    }

    func bind(_ index: CInt, _ number: Int64) {
        unsafe sqlite3_bind_int64(handle, index, number)
    }

    private func bindNull(_ index: CInt) {
        unsafe sqlite3_bind_null(handle, index)
    }

    // MARK: Running

    /// Steps to the next row.
    ///
    /// - Returns: false if there is none; the statement can then be bound and run again.
    func step() throws -> Bool {
        switch unsafe sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            reset()
            return false
        default:
            let error = unsafe SQLiteError(of: sqlite3_db_handle(handle))
            reset()
            throw error
        }
    }

    /// Runs a statement that returns no rows.
    func run() throws {
        while try step() {}
    }

    /// Calls `body` at each row until it returns false.
    func forEach(_ body: () throws -> Bool) throws {
        defer { reset() }
        while try step(), try body() {}
    }

    /// Discards the remaining rows.
    func reset() {
        unsafe sqlite3_reset(handle)
    }

    /// The present row.
    var columns: ItemColumns { unsafe ItemColumns(handle) }
}

/// The columns of a statement's present row, from 0; valid until the statement moves on.
///
/// Owns nothing, so that a row is passed on without reference counting.
@safe
struct ItemColumns {
    /// `sqlite3_stmt *`.
    private let handle: OpaquePointer

    fileprivate init(_ handle: OpaquePointer) { unsafe self.handle = handle }

    /// The bytes, valid until the next step; nil for NULL and for any other type on a damaged page.
    func octets(_ column: CInt) -> UnsafeRawBufferPointer? {
        // The value once instead of the column three times; no other thread uses this connection.
        let value = unsafe sqlite3_column_value(handle, column)
        guard unsafe sqlite3_value_type(value) == SQLITE_BLOB else { return nil }
        let start = unsafe sqlite3_value_blob(value)
        return unsafe UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
    }

    func isNull(_ column: CInt) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The text; nil for any other type.
    func text(_ column: CInt) -> String? {
        guard unsafe sqlite3_column_type(handle, column) == SQLITE_TEXT,
            let text = unsafe sqlite3_column_text(handle, column)
        else { return nil }
        return unsafe String(cString: text)
    }

    func number(_ column: CInt) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }
}
