import Foundation
import Glibc
import KeychainClient

/// Other programs with a test's keychain.
extension TemporaryKeychain {
    /// Runs a command whose calls, and those of the programs that it starts, use this keychain as the user's.
    ///
    /// The command gets a session of its own without a terminal, so that all its prompts are shown on a display that the person
    /// sees, on which the passcode was typed before: a touch counts there.
    ///
    /// - Parameters:
    ///   - command: the program, which is looked up in `PATH`, and its arguments.
    ///   - whenStarted: gets the number of the command's process, which is also that of its process group.
    /// - Returns: the command's exit status as a shell tells it: 127 if there is no such program, 128 and the number of a signal
    ///   that ended it.
    /// - Throws: ``TestKitError`` if the command cannot be started.
    package func run(
        _ command: [String],
        whenStarted: @Sendable (Int32) -> Void = { _ in }
    ) async throws(TestKitError) -> Int32 {
        try await TestKitError.wrapping("the command \(command.first ?? "")") {
            let display = try DisplaySocket()
            defer { withExtendedLifetime(display) {} }
            let keychain = parts.keychain
            try await parts.person.aside {
                try await parts.apart {
                    try keychain.client.lock()
                    try keychain.client.unlock(keychain.prompt(on: display))
                }
            }
            var environment = ProcessInfo.processInfo.environment
            environment["TOUCHSTONE_HOME"] = keychain.home.path
            environment["TOUCHSTONE_DAEMON"] = Programs.touchstoned
            environment["DISPLAY"] = display.name
            environment["WAYLAND_DISPLAY"] = nil
            let process = try await ChildProcess.start(
                "/usr/bin/env",
                ["--"] + command,
                environment: environment,
                outputs: (STDOUT_FILENO, STDERR_FILENO)
            )
            whenStarted(process.processID)
            let status = try await parts.apart { process.waitUntilEnd() }
            return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
        }
    }
}
