import CLinux
import FingerprintDriver
import Foundation
import Glibc
import KeychainModel
import MessageBus
import SecretMemory

/// A program that runs until it is stopped, the value is released, or this process ends in any way.
package final class ChildProcess: Sendable {
    /// The program's process.
    package let processID: Int32

    /// The status of waitpid(2), once the program has been reaped.
    private let end = Guarded<Int32?>(nil)

    private init(processID: Int32) { self.processID = processID }

    deinit { stop() }

    /// Starts a program that inherits nothing from this process but the given environment.
    ///
    /// - Parameters:
    ///   - path: the program.
    ///   - arguments: the arguments after the program's name.
    ///   - environment: the whole environment.
    ///   - input: the descriptor of its standard input; -1 for none.
    ///   - outputs: the descriptors of its standard output and error; nil for none.
    ///   - log: a file for its output and errors instead; nil for none.
    /// - Returns: the running program.
    /// - Throws: ``TestKitError`` when the program is missing or cannot be started.
    package static func start(
        _ path: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        input: CInt = -1,
        outputs: (output: CInt, errors: CInt)? = nil,
        log: String? = nil
    ) async throws -> ChildProcess {
        guard unsafe access(path, X_OK) == 0 else { throw TestKitError.missingProgram(path) }
        let processID = try await Nursery.shared.spawn(
            path,
            [path] + arguments,
            environment.map { "\($0)=\($1)" },
            input: input,
            outputs: outputs,
            log: log
        )
        return ChildProcess(processID: processID)
    }

    /// The letter of a process's state (proc(5), `stat`, field 3): `R` for running, `S` for sleeping, `T` for stopped; nil if there
    /// is no such process.
    package static func state(of processID: Int32) -> Character? {
        // It follows the program's name, which is in parentheses.
        let line = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8)
        return line?.split(separator: ")").last?.first { $0 != " " }
    }

    /// Whether a process has ended, whether or not it is our child or has been reaped.
    package static func hasEnded(_ processID: Int32) -> Bool {
        guard let state = state(of: processID) else { return true }
        return state == "Z" || state == "X"
    }

    /// Whether the program still runs.
    package var isRunning: Bool { status == nil }

    /// How the program ended, as waitpid(2) describes it; nil while it runs.
    package var status: Int32? {
        end.withLock { end in
            var status: Int32 = 0
            if end == nil, unsafe waitpid(processID, &status, WNOHANG) != 0 { end = status }
            return end
        }
    }

    /// Kills the program and waits for its end; may be called more than once.
    package func stop() { stop(with: SIGKILL) }

    /// Sends `signal`, which must end the program, and waits for the end.
    package func stop(with signal: Int32) {
        end.withLock { end in
            guard end == nil else { return }
            kill(processID, signal)
            var status: Int32 = 0
            _ = SystemCall.uninterrupted { unsafe waitpid(processID, &status, 0) }
            end = status
        }
    }

    /// Waits for the program to exit by itself, for as long as that takes; blocks the thread.
    ///
    /// - Returns: the status of waitpid(2).
    package func waitUntilEnd() -> Int32 {
        while true {
            var information = unsafe siginfo_t()
            // Leaves the process to `status`, which reaps it.
            _ = SystemCall.uninterrupted {
                unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
            }
            if let status { return status }
        }
    }

    /// Waits for the program to exit by itself, and returns the status of waitpid(2).
    @discardableResult
    package func waitUntilEnd(atMost limit: Duration = Deadline.patience) async throws -> Int32 {
        try await Deadline.wait(for: "the end of process \(processID)", atMost: limit) { status }
    }
}

/// The thread that starts programs: the kernel kills them when it ends, so it never does.
private actor Nursery {
    static let shared = Nursery()

    private let executor = BusExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func spawn(
        _ path: String,
        _ arguments: [String],
        _ environment: [String],
        input: CInt,
        outputs: (output: CInt, errors: CInt)?,
        log: String?
    ) throws -> Int32 {
        var file: CInt = -1
        if let log {
            file = unsafe open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw TestKitError.system("open", errno: errno) }
        }
        defer { if file >= 0 { close(file) } }
        let (output, errors) = log == nil ? outputs ?? (-1, -1) : (file, file)
        var argv = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        let processID = unsafe clinux_spawn(path, &argv, &envp, input, output, errors)
        guard processID > 0 else { throw TestKitError.system("clinux_spawn \(path)", errno: errno) }
        return processID
    }
}
