internal import Foundation

/// The number of checked events on a terminal, at most ten times a second; nothing if standard error is none.
final class AuditProgress {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var next = ContinuousClock.now
    private var width = 0

    /// Shows a number in the place of the one before.
    func show(_ events: Int) {
        guard isTerminal, ContinuousClock.now >= next else { return }
        next = .now + .milliseconds(100)
        let text = "events checked: \(events)"
        width = text.count
        write("\r\(text)")
    }

    /// Clears the line.
    func end() {
        guard width > 0 else { return }
        write("\r\(String(repeating: " ", count: width))\r")
        width = 0
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
