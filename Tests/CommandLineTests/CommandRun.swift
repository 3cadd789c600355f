import CLinux
import Foundation
import Glibc
import ScriptedDaemon
import Synchronization
import TouchstoneTesting

/// How a run of `touchstone` ended.
struct CommandResult: Sendable {
    /// The exit status; nil when a signal ended it.
    let status: Int32?
    /// The signal that ended it.
    let signal: Int32?
    /// What it wrote to standard output, where that is no terminal.
    let output: [UInt8]
    /// What it wrote to standard error.
    let errors: String

    /// Standard output as text.
    var text: String { String(decoding: output, as: UTF8.self) }
}

/// A run of `touchstone`, in a session of its own, with nothing of ours but what is given here.
struct CommandRun: Sendable {
    /// Where standard input comes from.
    enum Input: Sendable {
        case nothing
        case octets([UInt8])
        case terminal
    }

    var arguments: [String]
    var home: TemporaryHome
    /// Its controlling terminal; nil for none.
    var terminal: PseudoTerminal?
    var input = Input.nothing
    /// Whether standard output and error are the terminal too.
    var drawsOnTerminal = false
    var environment: [String: String] = [:]
    var program = Programs.touchstone

    /// Describes a run.
    init(_ arguments: String..., home: TemporaryHome) {
        self.init(arguments: arguments, home: home)
    }

    init(arguments: [String], home: TemporaryHome) {
        self.arguments = arguments
        self.home = home
    }

    /// Runs it to its end.
    func run() async throws -> CommandResult { try await start().result() }

    /// Starts it.
    func start() throws -> StartedCommand {
        var command = [program] + arguments
        if let terminal {
            // The leader of a session gets the first terminal it opens as its controlling one; a shell opens it so.
            command = ["/bin/sh", "-c", "exec 9<>\"$0\" 9>&- && exec \"$@\"", terminal.name] + command
        }
        var variables = [
            "TOUCHSTONE_HOME": home.path, "TOUCHSTONE_DAEMON": "/nonexistent", "PATH": "/usr/bin:/bin",
            "TERM": "dumb",
        ]
        variables.merge(environment) { $1 }
        return try StartedCommand(
            command,
            variables,
            input: openInput(),
            drawsOn: drawsOnTerminal ? terminal : nil
        )
    }

    private func openInput() throws -> CInt {
        switch input {
        case .nothing: return -1
        case .terminal: return open(terminal?.name ?? "/dev/null", O_RDWR | O_NOCTTY | O_CLOEXEC)
        case .octets(let octets):
            let file = clinux_memfd("input")
            guard unsafe write(file, octets, octets.count) == octets.count, lseek(file, 0, SEEK_SET) == 0
            else {
                throw POSIXError(.EIO)
            }
            return file
        }
    }
}

/// A run that may not have ended; killed with its owner.
final class StartedCommand: Sendable {
    let processID: Int32
    private let outcome: Task<CommandResult, Never>
    private let running: RunningProcess

    fileprivate init(
        _ command: [String],
        _ environment: [String: String],
        input: CInt,
        drawsOn terminal: PseudoTerminal?
    ) throws {
        defer { if input >= 0 { close(input) } }
        let output = terminal.map { open($0.name, O_RDWR | O_NOCTTY | O_CLOEXEC) } ?? clinux_memfd("output")
        let errors = terminal == nil ? clinux_memfd("errors") : dup(output)
        let isTerminal = terminal != nil
        let started = DispatchSemaphore(value: 0)
        let running = RunningProcess()
        let (stream, end) = AsyncStream.makeStream(of: CommandResult.self)
        // The program is killed when the thread that started it ends: that thread waits for it.
        Thread.detachNewThread {
            var argv: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) } + [nil]
            let variables = environment.map { "\($0.key)=\($0.value)" }
            var envp: [UnsafeMutablePointer<CChar>?] = unsafe variables.map { unsafe strdup($0) } + [nil]
            let processID = unsafe clinux_spawn(command[0], &argv, &envp, input, output, errors)
            unsafe (argv + envp).forEach { unsafe free($0) }
            running.start(processID)
            started.signal()
            guard processID > 0 else { return end.finish() }
            let status = running.reap()
            let signal = status & 0x7F
            end.yield(
                CommandResult(
                    status: signal == 0 ? (status >> 8) & 0xFF : nil,
                    signal: signal == 0 ? nil : signal,
                    output: isTerminal ? [] : Self.contents(output),
                    errors: isTerminal ? "" : String(decoding: Self.contents(errors), as: UTF8.self)
                )
            )
            close(output)
            close(errors)
        }
        started.wait()
        guard let processID = running.number else { throw TestKitError.missingProgram(command[0]) }
        self.processID = processID
        self.running = running
        outcome = Task {
            for await result in stream { return result }
            return CommandResult(status: nil, signal: nil, output: [], errors: "")
        }
    }

    deinit { running.kill() }

    /// Waits for its end.
    func result() async -> CommandResult { await outcome.value }

    private static func contents(_ file: CInt) -> [UInt8] {
        var octets: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = pread(file, &room, room.count, off_t(octets.count)), count > 0 {
            octets += room[..<count]
        }
        return octets
    }
}

/// A child process; its number is somebody else's once it was reaped.
private final class RunningProcess: Sendable {
    private let state = Mutex<(number: pid_t, isReaped: Bool)>((-1, true))

    /// Its number, also once it was reaped; nil where it was not started.
    var number: pid_t? { state.withLock { $0.number > 0 ? $0.number : nil } }

    func start(_ number: pid_t) { state.withLock { $0 = (number, number <= 0) } }

    /// Waits for its end, and gives what waitpid(2) says.
    func reap() -> CInt {
        guard let number else { return 0 }
        var information = siginfo_t()
        while unsafe waitid(P_PID, id_t(number), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        return state.withLock { state in
            var status: CInt = 0
            waitpid(number, &status, 0)
            state.isReaped = true
            return status
        }
    }

    func kill() {
        state.withLock { state in
            if !state.isReaped { _ = Glibc.kill(state.number, SIGKILL) }
        }
    }
}
