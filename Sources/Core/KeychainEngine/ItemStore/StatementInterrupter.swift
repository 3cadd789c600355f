internal import CSQLite
internal import Glibc
internal import SecretMemory
internal import Threads

/// Ends the statements of a connection early once a request waits for it.
///
/// Asks once a millisecond, on a thread of its own. A progress handler would not do: SQLite 3.40 calls it between two steps
/// of a statement, and `PRAGMA integrity_check` goes through all trees in one (37 to 54 ms at 100,000 items), which only
/// `sqlite3_interrupt()` ends.
final class StatementInterrupter: Sendable {
    @safe
    private struct State: @unchecked Sendable {  // sqlite3_interrupt() may be called by any thread
        /// `sqlite3 *`; nil from the end on, since the connection may be closed then.
        var connection: OpaquePointer?
        var hasInterrupted = false
    }

    private let state: Guarded<State>

    /// Begins to ask; without another thread, which the system may refuse, the statements run to their end.
    init(_ connection: OpaquePointer, _ isAwaited: @escaping @Sendable () -> Bool) {
        unsafe state = Guarded(State(connection: connection))
        ask(isAwaited)
        _ = BlockingThread.start { [self] in
            while ask(isAwaited) { _ = poll(nil, 0, 1) }
        }
    }

    /// - Returns: whether to ask again. Also after an interruption: one that comes before the statement's first step is lost.
    @discardableResult
    private func ask(_ isAwaited: () -> Bool) -> Bool {
        state.withLock { state in
            guard let connection = unsafe state.connection else { return false }
            if isAwaited() {
                state.hasInterrupted = true
                unsafe sqlite3_interrupt(connection)
            }
            return true
        }
    }

    /// Ends the asking.
    ///
    /// - Returns: whether statements were interrupted.
    func end() -> Bool {
        state.withLock { state in
            unsafe state.connection = nil
            return state.hasInterrupted
        }
    }
}
