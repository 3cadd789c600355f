internal import GRDB
internal import GRDBSQLite

/// Reads a piece of SQLite's file at once where it goes through it page after page, as a list does: pages are small,
/// and a system call for each costs more than the items in it.
///
/// Stands between SQLite and the methods of its file until that is closed. What is at hand is sealed, as the file is.
@safe
enum ReadAhead {
    /// What is read at once.
    private static let byteCount = 16 * 1024
    /// How far apart two reads are that still go through the file: pages of a table stand between those of its indexes.
    private static let longestStep = Int64(8 * ItemSchema.pageByteCount)

    @safe
    private struct State {
        /// First, so that a file's methods lead to all of it.
        var methods: sqlite3_io_methods
        let original: UnsafePointer<sqlite3_io_methods>
        /// Where SQLite's last read ended.
        var lastEnd: Int64 = -1
        /// The piece at hand, from `start` to `end` in the file; none while they are the same.
        let piece: UnsafeMutableRawPointer
        var start: Int64 = 0
        var end: Int64 = 0

        /// Whether a read goes on from the last one, or from the piece.
        func isNext(_ offset: Int64) -> Bool {
            let next = Int64(0)...longestStep
            return next.contains(offset - lastEnd) || next.contains(offset - end)
        }

        mutating func forget() {
            start = 0
            end = 0
        }
    }

    /// Starts to read ahead in a connection's main file.
    static func start(on connection: OpaquePointer) throws {
        var found: UnsafeMutablePointer<sqlite3_file>?
        let result = unsafe sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &found)
        guard result == SQLITE_OK, let file = unsafe found, let original = unsafe file.pointee.pMethods else {
            throw DatabaseError(resultCode: .SQLITE_ERROR)
        }
        var methods = unsafe original.pointee
        unsafe methods.xRead = { unsafe ReadAhead.read($0, $1, $2, $3) }
        unsafe methods.xWrite = { file, octets, count, offset in
            let state = unsafe ReadAhead.state(file)
            unsafe state.pointee.forget()
            return unsafe state.pointee.original.pointee.xWrite?(file, octets, count, offset) ?? SQLITE_IOERR
        }
        unsafe methods.xTruncate = { file, size in
            let state = unsafe ReadAhead.state(file)
            unsafe state.pointee.forget()
            return unsafe state.pointee.original.pointee.xTruncate?(file, size) ?? SQLITE_IOERR
        }
        unsafe methods.xClose = { file in
            let state = unsafe ReadAhead.state(file)
            defer {
                unsafe state.pointee.piece.deallocate()
                unsafe state.deallocate()
            }
            return unsafe state.pointee.original.pointee.xClose?(file) ?? SQLITE_IOERR
        }
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        let piece = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 4096)
        unsafe state.initialize(to: State(methods: methods, original: original, piece: piece))
        unsafe file.pointee.pMethods = unsafe UnsafeRawPointer(state).assumingMemoryBound(
            to: sqlite3_io_methods.self
        )
    }

    private static func state(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<State> {
        let methods = unsafe UnsafeMutableRawPointer(mutating: file.unsafelyUnwrapped.pointee.pMethods)
        return unsafe methods.unsafelyUnwrapped.assumingMemoryBound(to: State.self)
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?,
        _ octets: UnsafeMutableRawPointer?,
        _ count: CInt,
        _ offset: Int64
    ) -> CInt {
        let state = unsafe Self.state(file)
        let end = offset + Int64(count)
        defer { unsafe state.pointee.lastEnd = end }
        let isAtHand = unsafe state.pointee.start <= offset && end <= state.pointee.end
        if !isAtHand {
            guard let read = unsafe state.pointee.original.pointee.xRead else { return SQLITE_IOERR }
            guard count == ItemSchema.pageByteCount, unsafe state.pointee.isNext(offset) else {
                return unsafe read(file, octets, count, offset)
            }
            unsafe state.pointee.forget()
            // A read that is cut short does not say how much there was: a file's last pages are read one by one.
            guard unsafe read(file, state.pointee.piece, CInt(byteCount), offset) == SQLITE_OK else {
                return unsafe read(file, octets, count, offset)
            }
            unsafe state.pointee.start = offset
            unsafe state.pointee.end = offset + Int64(byteCount)
        }
        let source = unsafe state.pointee.piece + Int(offset - state.pointee.start)
        unsafe octets?.copyMemory(from: source, byteCount: Int(count))
        return SQLITE_OK
    }
}
