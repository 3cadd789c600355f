import Foundation

/// What the daemon writes to standard error.
extension PrivateKeychain {
    /// The daemon's log so far, over all its runs; empty before the first.
    package var log: String {
        (try? String(contentsOfFile: home.appending("daemon.stderr"), encoding: .utf8)) ?? ""
    }

    /// Waits until the log contains a text: a log line about a request may be written after its reply.
    ///
    /// - Parameters:
    ///   - text: The text to find in a line.
    ///   - count: The minimum number of matching lines.
    /// - Returns: the matching lines so far, each whole.
    /// - Throws: ``TestKitError/timedOut(_:)``.
    @discardableResult
    package func expectLogged(_ text: String, count: Int = 1) async throws -> [Substring] {
        try await Deadline.wait(for: "'\(text)' in the log") {
            // The last line may be incomplete.
            let lines = log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let found = lines.filter { $0.contains(text) }
            return found.count >= count ? found : nil
        }
    }
}
