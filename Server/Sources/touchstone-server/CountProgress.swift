internal import Foundation

/// A growing number on a terminal, at most ten times a second; nothing if standard error is none.
final class CountProgress {
    private let subject: String
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var next = ContinuousClock.now
    private var width = 0

    /// Counts what `subject` names.
    init(_ subject: String) { self.subject = subject }

    /// Shows a number in the place of the one before.
    func show(_ count: Int) {
        guard isTerminal, ContinuousClock.now >= next else { return }
        next = .now + .milliseconds(100)
        let text = "\(subject): \(count)"
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
