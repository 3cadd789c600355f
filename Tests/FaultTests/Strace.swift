import Foundation
import Glibc
import TouchstoneTesting

/// strace(1): fails, kills at, or records a daemon's system calls.
///
/// It counts per thread and system call: `when=7` of `pwrite64` is the seventh one of the first thread to
/// reach it.
final class Strace: Sendable {
    static let path = "/usr/bin/strace"
    static var isThere: Bool { geteuid() == 0 && access(path, X_OK) == 0 }

    /// The calls that change files.
    static let writes = [
        "pwrite64", "fdatasync", "fsync", "ftruncate", "unlinkat", "unlink", "renameat", "renameat2",
        "rename", "linkat",
    ]

    private let process: ChildProcess

    private init(_ process: ChildProcess) { self.process = process }

    /// Runs the daemon with strace as its grandchild (`-D`), so that the daemon is still this process's
    /// child.
    static func wrapper(_ options: [String]) -> [String] {
        [path, "-D", "-f", "-qq", "-e", "signal=none"] + options
    }

    /// Options that kill the daemon at the call of this number.
    static func killing(at number: Int, of call: String) -> [String] {
        injecting("signal=KILL", into: call, when: "\(number)")
    }

    /// Options that make a call fail, or send a signal with it.
    static func injecting(_ fault: String, into call: String, when: String) -> [String] {
        // strace only tampers with traced calls.
        ["-o", "/dev/null", "-e", "trace=\(call)", "-e", "inject=\(call):\(fault):when=\(when)"]
    }

    /// Options that record all changes of files and all replies completely.
    static func recording(to log: String) -> [String] {
        let calls = (writes + ["openat", "sendmsg"]).joined(separator: ",")
        return ["-y", "-xx", "-s", "1000000", "-e", "trace=\(calls)", "-o", log]
    }

    /// Attaches to all threads of a running daemon; with `followsPrograms` also to the programs that it starts, whose calls
    /// then fail as well.
    static func attach(
        to daemon: Int32,
        _ options: [String],
        followsPrograms: Bool = false
    ) async throws -> Strace {
        let programs = followsPrograms ? [] : ["-b", "execve"]
        let arguments = ["-f", "-qq", "-e", "signal=none"] + programs + options + ["-p", "\(daemon)"]
        let process = try await ChildProcess.start(path, arguments)
        try await Deadline.wait(for: "strace to hold on to the daemon") {
            // It may have killed the daemon already, and ended with it.
            if ChildProcess.hasEnded(daemon) { return true }
            guard process.isRunning else { throw TestKitError.unexpected("strace ended") }
            return try isTraced(daemon, by: process.processID) ? true : nil
        }
        return Strace(process)
    }

    /// Detaches from the daemon, which keeps running.
    func detach() { process.stop(with: SIGINT) }

    private static func isTraced(_ daemon: Int32, by tracer: Int32) throws -> Bool {
        let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon)/task")
        return tasks.allSatisfy { task in
            let status = try? String(contentsOfFile: "/proc/\(daemon)/task/\(task)/status", encoding: .utf8)
            // A thread that ended meanwhile counts as traced.
            return status?.contains("TracerPid:\t\(tracer)\n") ?? true
        }
    }
}
