import Foundation

/// What the daemon writes to standard error.
extension PrivateKeychain {
    /// The daemon's log so far, over all its runs; empty before the first.
    package var log: String {
        (try? String(contentsOfFile: home.appending("daemon.stderr"), encoding: .utf8)) ?? ""
    }

    /// For the text of a failure: the log, and how the present daemon ended or in which system call each of its threads waits.
    package var report: String {
        let (process, state) = (processID, isRunning ? "runs" : "has ended")
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        let threads = tasks.map { task in
            let files = ["comm", "wchan", "syscall"].map { name in
                let text = try? String(
                    contentsOfFile: "/proc/\(process)/task/\(task)/\(name)",
                    encoding: .utf8
                )
                return text?.split(separator: "\n").first.map(String.init) ?? "-"
            }
            return "thread \(task): \(files.joined(separator: ", "))\n"
        }
        return
            "the daemon, process \(process), \(state)\(end.map { ", status \($0)" } ?? "")\n\(threads.joined())\(log)"
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
