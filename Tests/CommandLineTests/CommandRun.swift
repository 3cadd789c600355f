import CLinux
import Foundation
import Glibc
import ScriptedDaemon
import Synchronization
import TouchstoneTesting

/// The result of a `touchstone` run.
struct CommandResult: Sendable {
    /// The exit status; nil if a signal ended the process.
    let status: Int32?
    /// The signal that ended it.
    let signal: Int32?
    /// Standard output, if it is not a terminal.
    let output: [UInt8]
    /// Standard error.
    let errors: String

    /// Standard output as text.
    var text: String { String(decoding: output, as: UTF8.self) }
}

/// A run of `touchstone` in its own session, as the owner of its home directory, which inherits only what is given here.
struct CommandRun: Sendable {
    /// The source of standard input.
    enum Input: Sendable {
        case nothing
        case octets([UInt8])
        case terminal
    }

    var arguments: [String]
    var home: TemporaryHome
    /// The controlling terminal; nil for none.
    var terminal: PseudoTerminal?
    var input = Input.nothing
    /// Whether standard output and error are connected to the terminal too.
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

    /// Runs the command to its end.
    func run() async throws -> CommandResult { try await start().result() }

    /// Starts the command.
    func start() throws -> StartedCommand {
        var command = [program] + arguments
        if let terminal {
            // A session leader gets the first terminal it opens as its controlling terminal; a shell opens
            // it.
            command = ["/bin/sh", "-c", "exec 9<>\"$0\" 9>&- && exec \"$@\"", terminal.name] + command
        }
        var place = stat()
        guard stat(home.path, &place) == 0 else { throw TestKitError.system("stat", errno: errno) }
        if place.st_uid != geteuid() {
            if let terminal { chown(terminal.name, place.st_uid, place.st_gid) }
            let user = ["--reuid=\(place.st_uid)", "--regid=\(place.st_gid)", "--clear-groups"]
            command = ["/usr/bin/setpriv"] + user + ["--pdeathsig=KILL", "--"] + command
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

/// A command that may still be running; killed at deinit.
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
        // PR_SET_PDEATHSIG kills the program when the thread that started it ends, so that thread waits for
        // it.
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

    /// Waits for the end.
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

/// A child process; its number may be reused after it is reaped.
private final class RunningProcess: Sendable {
    private let state = Mutex<(number: pid_t, isReaped: Bool)>((-1, true))

    /// The process number, also after it was reaped; nil if it was not started.
    var number: pid_t? { state.withLock { $0.number > 0 ? $0.number : nil } }

    func start(_ number: pid_t) { state.withLock { $0 = (number, number <= 0) } }

    /// Waits for the end and returns waitpid(2)'s status.
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
