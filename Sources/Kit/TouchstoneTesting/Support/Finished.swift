import Foundation

/// A program that ran to its end.
package struct Finished: Sendable {
    /// Its exit status, or minus the signal that ended it.
    package let status: Int32
    /// Whether the kernel wrote a core.
    package let dumpedCore: Bool
    /// What it wrote, errors among it.
    package var output: String

    /// Takes what waitpid(2) said, and what the program wrote.
    package init(_ wait: Int32, _ output: String) {
        let signal = wait & 0x7F
        status = signal != 0 ? -signal : wait >> 8
        dumpedCore = wait & 0x80 != 0
        self.output = output
    }

    /// Takes what waitpid(2) said, and the file that the program wrote to.
    package init(_ wait: Int32, log: String) throws {
        self.init(wait, String(decoding: try Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self))
    }

    /// Runs a program and waits.
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
