import Glibc
import KeychainModel

/// The process that leads the session of a command with its own terminal, and reports the command's status.
///
/// It holds no secret. When it ends, usually because the terminal was closed, the kernel hangs up the command as well.
enum SessionLeader {
    /// The first argument of such a process.
    static let argument = "---session"

    /// Runs the session leader and exits, if the arguments say so.
    static func runIfAsked(_ arguments: [String]) {
        guard arguments.count == 2, arguments[1] == argument, getsid(0) == getpid() else { return }
        while true {
            var status: CInt = 0
            // The command is its only child.
            let number = SystemCall.uninterrupted { unsafe waitpid(-1, &status, WUNTRACED) }
            guard number > 0, Self.report(status), Self.isStopped(status) else { break }
        }
        exit(EXIT_SUCCESS)
    }

    /// Reads the next wait status from the pipe of a session leader; nil if there are no more.
    static func status(from descriptor: CInt) -> CInt? {
        var status: CInt = 0
        let count = SystemCall.uninterrupted {
            unsafe read(descriptor, &status, MemoryLayout<CInt>.size)
        }
        return count == MemoryLayout<CInt>.size ? status : nil
    }

    /// Whether a wait status (waitpid(2)) says that the command was stopped.
    static func isStopped(_ status: CInt) -> Bool { status & 0xFF == 0x7F }

    private static func report(_ status: CInt) -> Bool {
        // So few bytes are written to a pipe atomically.
        unsafe withUnsafeBytes(of: status) { unsafe Descriptor.write($0, to: STDOUT_FILENO) }
    }
}
