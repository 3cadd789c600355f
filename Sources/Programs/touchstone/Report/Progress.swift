import Glibc
import SecretMemory

/// The progress of an operation that takes longer than a second: one line on standard error if that is a terminal,
/// cleared at the end; otherwise nothing.
final class Progress: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        /// The width of the line, in columns.
        var width = 0
    }

    private let verb: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let state = Guarded(State())

    init(_ verb: String) { self.verb = verb }

    /// Shows `done` of `total`; callable from any thread.
    func show(_ done: Int, _ total: Int) {
        guard isTerminal, total > 0 else { return }
        let line = "\(verb): \(min(100, 100 * done / total)) %"
        state.withLock { state in
            let rest = String(repeating: " ", count: max(0, state.width - line.count))
            state.width = max(state.width, line.count)
            write("\r" + line + rest)
        }
    }

    /// Shows it only once a second has passed since the first call.
    func showLater(_ done: Int, _ total: Int) {
        let isDue = state.withLock { state in
            let start = state.start ?? .now
            state.start = start
            return .now - start >= Duration.seconds(1)
        }
        if isDue { show(done, total) }
    }

    /// Clears the line, if one was shown.
    func clear() {
        state.withLock { state in
            if state.width > 0 { write("\r" + String(repeating: " ", count: state.width) + "\r") }
            state = State()
        }
    }

    private func write(_ text: String) {
        var text = text
        text.withUTF8 { octets in
            _ = unsafe Glibc.write(STDERR_FILENO, octets.baseAddress, octets.count)
        }
    }
}
