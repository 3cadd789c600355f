import Glibc
import TouchstoneTesting

/// The command `touchstone` at a private keychain.
extension PrivateKeychain {
    /// Runs a line of the shell to its end.
    ///
    /// - Parameters:
    ///   - line: the line; `$T` is the program, and the keychain's directory is the home directory.
    ///   - terminal: the standard input, on which prompts appear.
    ///   - more: further variables.
    ///   - wrapper: a command that runs the program, for example `strace` with its options.
    /// - Returns: the shell's status, 128 and the signal's number for a program that a signal ended.
    /// - Throws: ``TestKitError`` when the shell cannot be started.
    func runShell(
        _ line: String,
        on terminal: PseudoTerminal,
        _ more: [String: String] = [:],
        through wrapper: [String] = []
    ) async throws -> Int32 {
        let variables = [
            "TOUCHSTONE_HOME": home.path, "HOME": home.path, "PATH": "/usr/bin:/bin",
            "TOUCHSTONE_DAEMON": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
            "T": (wrapper + [Programs.touchstone]).joined(separator: " "),
        ]
        let input = open(terminal.name, O_RDWR | O_NOCTTY | O_CLOEXEC)
        defer { close(input) }
        let process = try await ChildProcess.start(
            "/bin/sh",
            ["-c", line],
            environment: variables.merging(more) { $1 },
            input: input,
            log: home.appending("command.log")
        )
        let status = try await process.waitUntilEnd()
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}
