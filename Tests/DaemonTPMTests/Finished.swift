import Foundation
import TouchstoneTesting

/// A program that ran to its end.
struct Finished {
    /// Its exit status; 128 and the signal where one ended it.
    let status: Int32
    /// What it wrote.
    let output: String

    /// Runs a program and waits.
    static func running(_ command: [String], environment: [String: String] = [:]) async throws -> Finished {
        let directory = try TemporaryDirectory()
        let log = directory.appending("output")
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: environment,
            log: log
        )
        let end = try await process.waitUntilEnd()
        let signal = end & 0x7F
        return Finished(
            status: signal == 0 ? end >> 8 : 128 + signal,
            output: try String(contentsOfFile: log, encoding: .utf8)
        )
    }
}

/// Why a test could not go on.
struct Surprise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
