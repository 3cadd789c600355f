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

    /// Swift's runtime finds the arguments by a file in /proc; without a free descriptor there are none.
    static var noArguments: CommandError {
        CommandError(
            "the command's arguments cannot be read: no file descriptor is free",
            hint: "close files, or raise the limit: ulimit -n"
        )
    }
}
