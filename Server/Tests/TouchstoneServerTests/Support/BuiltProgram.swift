import Foundation

/// The built program, run in its own environment.
final class BuiltProgram: Sendable {
    private let process: Process
    private let directory: String

    /// The directory of built programs.
    static let products =
        Bundle.main.bundleURL.pathExtension == "xctest"
        ? Bundle.main.bundleURL.deletingLastPathComponent() : Bundle.main.bundleURL

    /// Starts it.
    ///
    /// - Parameters:
    ///   - directory: where its files and its output are.
    ///   - arguments: its arguments.
    ///   - environment: further variables.
    ///   - limit: a shell command that runs before it, such as `ulimit`.
    ///   - launcher: the words of a command that starts the command after them.
    /// - Throws: an error of the start.
    init(
        _ directory: String,
        _ arguments: [String],
        _ environment: [String: String],
        through limit: String? = nil,
        by launcher: [String] = []
    ) throws {
        self.directory = directory
        process = Process()
        let shell = limit.map { ["/bin/sh", "-c", "\($0) && exec \"$0\" \"$@\""] } ?? []
        let words = launcher + shell + [Self.products.appending(path: "touchstone-server").path] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.environment = ["XDG_DATA_HOME": directory, "HOME": directory].merging(environment) { $1 }
        // A file rather than a pipe, which would have to be drained.
        let file = "\(directory)/output-\(UUID().uuidString)"
        try Data().write(to: URL(filePath: file))
        output = file
        let handle = try FileHandle(forWritingTo: URL(filePath: file))
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
    }

    private let output: String

    /// Its output so far, once that contains `text` or the program has exited.
    func output(until text: String?) async throws -> String {
        for _ in 0..<1200 {
            let written = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
            if text.map(written.contains) ?? true || !process.isRunning { return written }
            try await Task.sleep(for: .milliseconds(50))
        }
        return (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
    }

    /// Its output, once that contains `text` so many times or the program has exited.
    func output(until text: String, times: Int) async throws -> String {
        while true {
            let written = try await output(until: nil)
            if written.ranges(of: text).count >= times || !process.isRunning { return written }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    var isRunning: Bool { process.isRunning }

    func terminate() { process.terminate() }

    /// Sends SIGHUP, as `systemctl reload` does.
    func hangUp() { Foundation.kill(process.processIdentifier, SIGHUP) }

    /// Kills it with SIGKILL, like a crash.
    func kill() { Foundation.kill(process.processIdentifier, SIGKILL) }

    var processIdentifier: Int32 { process.processIdentifier }

    func status() async -> Int32 {
        while process.isRunning { try? await Task.sleep(for: .milliseconds(20)) }
        return process.terminationStatus
    }
}
