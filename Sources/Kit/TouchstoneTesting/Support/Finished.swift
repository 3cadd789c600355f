import Foundation

/// The result of a program that has exited.
package struct Finished: Sendable {
    /// Its exit status, or minus the signal that ended it.
    package let status: Int32
    /// Whether the kernel wrote a core dump.
    package let dumpedCore: Bool
    /// Its output, standard error included.
    package var output: String

    /// Creates the result from waitpid(2)'s status and the program's output.
    package init(_ wait: Int32, _ output: String) {
        let signal = wait & 0x7F
        status = signal != 0 ? -signal : wait >> 8
        dumpedCore = wait & 0x80 != 0
        self.output = output
    }

    /// Creates the result from waitpid(2)'s status and the file with the program's output.
    package init(_ wait: Int32, log: String) throws {
        self.init(wait, String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self))
    }

    /// Runs a program and waits for its exit.
    package static func running(
        _ command: [String],
        environment: [String: String] = [:]
    ) async throws -> Finished {
        let directory = try TemporaryDirectory()
        let log = directory.appending("output")
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: environment,
            log: log
        )
        return try Finished(await process.waitUntilEnd(), log: log)
    }
}
