import Glibc
import KeychainModel
import SecretMemory

/// Where the bytes of an export go.
protocol ExportTarget: Sendable {
    /// The number of bytes written.
    var count: Int { get }
    /// The error of a failed write.
    var failure: CommandError? { get }
    /// Appends bytes.
    ///
    /// - Throws: ``KeychainError`` with `errSecIO`; ``failure`` then has the details.
    func append(_ octets: [UInt8]) throws(KeychainError)
    /// Completes the export: it counts only if this succeeds.
    func finish() throws(CommandError)
    /// Gives an incomplete export up.
    func discard()
}

/// The standard input of a shell's command.
///
/// The command gets the end of its input once the export is complete, and SIGTERM before it otherwise, so that it does not
/// take a part for the whole. A part that a program of the command keeps nevertheless is refused when it is read.
final class CommandInput: ExportTarget {
    private struct State {
        var process: pid_t
        var input: CInt
        var count = 0
        var failure: CommandError?
    }

    private let state: Guarded<State?>
    private let command: String

    init(_ command: String) {
        self.command = command
        state = Guarded(nil)
    }

    deinit { discard() }

    var count: Int { state.withLock { $0?.count ?? 0 } }
    var failure: CommandError? { state.withLock { $0?.failure } }

    /// Starts the command with the first bytes, when the user was asked already.
    private func started() throws(CommandError) -> State {
        // A command that ends early is an error of a write, not the end of this one.
        _ = signal(SIGPIPE, SIG_IGN)
        var pipe = try Pipe()
        let child = try ChildProgram("/bin/sh", ["sh", "-c", command], input: pipe.readEnd)
        return State(process: child.processID, input: pipe.takeWriteEnd())
    }

    func append(_ octets: [UInt8]) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            var current: State
            do throws(CommandError) {
                current = if let running = state { running } else { try started() }
            } catch {
                state = State(process: -1, input: -1, failure: error)
                throw KeychainError(.io)
            }
            defer { state = current }
            guard unsafe octets.withUnsafeBytes({ unsafe Descriptor.write($0, to: current.input) }) else {
                current.failure = CommandError("the command does not read the backup: \(command)")
                throw KeychainError(.io)
            }
            current.count += octets.count
        }
    }

    func finish() throws(CommandError) {
        guard let ended = state.withLock({ $0.take() }) else { throw CommandError("the backup is empty") }
        close(ended.input)
        let status = Self.wait(ended.process)
        guard status == 0 else {
            throw CommandError(
                "the command ended with status \(status), and may not have the backup: \(command)"
            )
        }
    }

    func discard() {
        guard let ended = state.withLock({ $0.take() }), ended.process > 0 else { return }
        kill(ended.process, SIGTERM)
        _ = Self.wait(ended.process)
        close(ended.input)
    }

    private static func wait(_ process: pid_t) -> CInt {
        var status: CInt = 0
        _ = SystemCall.uninterrupted { unsafe waitpid(process, &status, 0) }
        return ChildProgram.exitStatus(of: status)
    }
}
