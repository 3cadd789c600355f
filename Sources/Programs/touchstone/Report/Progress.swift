import Glibc
import SecretMemory

/// How far something is that takes longer than a second: one line on standard error where that is a terminal, wiped at
/// the end; nothing elsewhere.
final class Progress: Sendable {
    private struct State {
        var start: ContinuousClock.Instant?
        /// The columns that the line takes.
        var width = 0
    }

    private let verb: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let state = Guarded(State())

    init(_ verb: String) { self.verb = verb }

    /// Shows `done` of `total`; from any thread.
    func show(_ done: Int, _ total: Int) {
        guard isTerminal, total > 0 else { return }
        let line = "\(verb): \(min(100, 100 * done / total)) %"
        state.withLock { state in
            let rest = String(repeating: " ", count: max(0, state.width - line.count))
            state.width = max(state.width, line.count)
            write("\r" + line + rest)
        }
    }

    /// Shows it from the second second on after the first call.
    func showLater(_ done: Int, _ total: Int) {
        let isDue = state.withLock { state in
            let start = state.start ?? .now
            state.start = start
            return .now - start >= Duration.seconds(1)
        }
        if isDue { show(done, total) }
    }

    /// Leaves an empty line, where something was shown.
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
