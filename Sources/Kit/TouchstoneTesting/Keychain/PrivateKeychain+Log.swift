import Foundation

/// What the daemon writes to standard error.
extension PrivateKeychain {
    /// The daemon's log so far, over all its starts; empty before the first.
    package var log: String {
        (try? String(contentsOfFile: home.appending("daemon.stderr"), encoding: .utf8)) ?? ""
    }

    /// Waits until a text is in the log: what is told of a request may be written after its answer.
    ///
    /// - Parameters:
    ///   - text: What a line has.
    ///   - count: In how many lines, at least.
    /// - Returns: the lines that have it so far, each whole.
    /// - Throws: ``TestKitError/timedOut(_:)``.
    @discardableResult
    package func expectLogged(_ text: String, count: Int = 1) async throws -> [Substring] {
        try await Deadline.wait(for: "'\(text)' in the log") {
            // The last line may be under way.
            let lines = log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let found = lines.filter { $0.contains(text) }
            return found.count >= count ? found : nil
        }
    }
}
