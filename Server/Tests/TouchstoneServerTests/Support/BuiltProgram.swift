import Foundation

/// The built program, run in its own environment.
final class BuiltProgram: Sendable {
    private let process: Process
    private let directory: String

    /// Starts it; `limit` is a shell command that runs before it, such as `ulimit`.
    init(
        _ directory: String,
        _ arguments: [String],
        _ environment: [String: String],
        through limit: String? = nil
    ) throws {
        self.directory = directory
        process = Process()
        let products =
            Bundle.main.bundleURL.pathExtension == "xctest"
            ? Bundle.main.bundleURL.deletingLastPathComponent() : Bundle.main.bundleURL
        let program = products.appending(path: "touchstone-server")
        process.executableURL = limit == nil ? program : URL(filePath: "/bin/sh")
        process.arguments =
            limit.map { ["-c", "\($0) && exec \"$0\" \"$@\"", program.path] + arguments } ?? arguments
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
