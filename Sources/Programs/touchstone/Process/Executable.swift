import Glibc
import KeychainModel

/// The program that `run` executes, found as execvp(3) finds it.
struct Executable {
    let path: String

    /// Looks up a command before the user is prompted.
    ///
    /// - Throws: ``CommandError`` with status 127 when it does not exist, 126 when it cannot be executed.
    init(_ command: String) throws(CommandError) {
        guard !command.isEmpty else { throw Self.notFound(command) }
        if command.contains("/") {
            guard Self.exists(command) else { throw Self.notFound(command) }
            guard Self.isExecutable(command) else { throw Self.notExecutable(command, EACCES) }
            path = command
            return
        }
        let directories = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? "/bin:/usr/bin"
        let candidates = directories.split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "./" + command : $0 + "/" + command }
            .filter(Self.exists)
        guard let path = candidates.first(where: Self.isExecutable) ?? candidates.first else {
            throw Self.notFound(command)
        }
        guard Self.isExecutable(path) else { throw Self.notExecutable(path, EACCES) }
        self.path = path
    }

    static func notExecutable(_ path: String, _ reason: CInt) -> CommandError {
        let reason = SystemError.name(of: reason)
        return CommandError(
            "cannot execute '\(path)': \(reason)",
            hint: "name a program; a script needs chmod +x and a first line with #!",
            exitCode: .notExecutable
        )
    }

    private static func notFound(_ command: String) -> CommandError {
        let isPath = command.contains("/")
        return CommandError(
            "command not found: '\(command)'",
            hint: isPath ? "check its path" : "install it, or name its path; aliases are the shell's",
            exitCode: .commandNotFound
        )
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    private static func isExecutable(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        return unsafe access(path, X_OK) == 0
    }
}
