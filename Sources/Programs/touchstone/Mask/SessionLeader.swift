import Glibc
import KeychainModel

/// The process that leads the session of a command with a terminal of its own, and reports how the command fares.
///
/// It holds no secret. What ends it, a terminal that is closed above all, the kernel tells the command as well.
enum SessionLeader {
    /// The first argument of such a process.
    static let argument = "---session"

    /// Runs it to its end, where the arguments say so.
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

    /// Reads the next status from an end of a pipe that leads to such a process; nil when none will come.
    static func status(from descriptor: CInt) -> CInt? {
        var status: CInt = 0
        let count = SystemCall.uninterrupted {
            unsafe read(descriptor, &status, MemoryLayout<CInt>.size)
        }
        return count == MemoryLayout<CInt>.size ? status : nil
    }

    /// Whether a status, as waitpid(2) has it, says that the command was stopped.
    static func isStopped(_ status: CInt) -> Bool { status & 0xFF == 0x7F }

    private static func report(_ status: CInt) -> Bool {
        // A pipe takes as little as this at once.
        unsafe withUnsafeBytes(of: status) { unsafe Descriptor.write($0, to: STDOUT_FILENO) }
    }
}
