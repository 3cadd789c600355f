import ArgumentParser

/// Why a command fails: the message line, the hint line, and the exit status.
struct CommandError: Error {
    let message: String
    let hint: String?
    let exitCode: ExitCode

    init(_ message: String, hint: String? = nil, exitCode: ExitCode = .failed) {
        self.message = message
        self.hint = hint
        self.exitCode = exitCode
    }
}
