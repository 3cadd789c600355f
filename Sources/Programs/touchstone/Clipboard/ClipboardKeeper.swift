import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// The process that copies a secret and clears the clipboard afterwards; it leaves the terminal's session.
///
/// It keeps the secret in locked memory until then, to compare it with the clipboard's content.
enum ClipboardKeeper {
    /// The first argument of such a process.
    static let argument = "---clipboard"
    /// The report once the secret is on the clipboard.
    static let done = "copied"
    /// How long a clipboard program may take.
    static let patience = Duration.seconds(5)

    /// Runs the process to its end if the arguments ask for it.
    static func runIfAsked(_ arguments: [String]) {
        guard arguments.count == 5, arguments[1] == argument,
            let program = ClipboardProgram(rawValue: arguments[2]),
            let seconds = Int(arguments[4])
        else { return }
        setsid()
        _ = signal(SIGPIPE, SIG_IGN)
        let signals = unsafe clinux_hold_signals([SIGTERM, SIGINT, SIGHUP, SIGQUIT], 4)
        guard let secret = (try? Descriptor.read(STDIN_FILENO, upTo: ItemLimits.longestData)) ?? nil,
            copy(secret, program, arguments[3])
        else { exit(EXIT_FAILURE) }
        var done = done
        _ = done.withUTF8 { unsafe Descriptor.write(UnsafeRawBufferPointer($0), to: STDOUT_FILENO) }
        close(STDOUT_FILENO)
        // A signal, for example at a logout, clears it at once.
        _ = Descriptor.isReadable(signals, until: ContinuousClock.now + .seconds(seconds))
        if holds(secret, program) { clear(program) }
        exit(EXIT_SUCCESS)
    }

    private static func copy(
        _ secret: borrowing SecretBytes,
        _ program: ClipboardProgram,
        _ path: String
    ) -> Bool {
        guard var input = try? Pipe(),
            let child = try? start(path, program.copying, input: input.readEnd, output: null)
        else { return false }
        input.closeReadEnd()
        let isWritten = Descriptor.write(secret, to: input.writeEnd)
        input.closeWriteEnd()
        return isEnded(child.processID) == 0 && isWritten
    }

    /// Whether the clipboard still holds the secret; false if its content cannot be read.
    private static func holds(_ secret: borrowing SecretBytes, _ program: ClipboardProgram) -> Bool {
        guard var output = try? Pipe(), let name = program.pasting.first,
            let path = try? Executable(name).path,
            let child = try? start(path, program.pasting, input: null, output: output.writeEnd)
        else { return false }
        output.closeWriteEnd()
        let held =
            (try? Descriptor.read(
                output.readEnd,
                upTo: secret.count + 1,
                until: ContinuousClock.now + patience
            )) ?? nil
        if held == nil { kill(child.processID, SIGKILL) }
        _ = isEnded(child.processID)
        guard let held else { return false }
        return held.matches(secret)
    }

    private static func clear(_ program: ClipboardProgram) {
        guard let name = program.clearing.first, let path = try? Executable(name).path,
            let child = try? start(path, program.clearing, input: null, output: null)
        else { return }
        _ = isEnded(child.processID)
    }

    private static func start(
        _ path: String,
        _ arguments: [String],
        input: CInt,
        output: CInt
    ) throws(CommandError) -> ChildProgram {
        // A process that it leaves behind must not keep the caller's streams open.
        try ChildProgram(path, arguments, input: input, output: output, errors: null)
    }

    private static let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)

    /// Waits for a program's exit, up to the time limit, and returns its exit status.
    private static func isEnded(_ processID: pid_t) -> CInt {
        let pidfd = clinux_pidfd_open(processID)
        defer { if pidfd >= 0 { close(pidfd) } }
        if pidfd >= 0, !Descriptor.isReadable(pidfd, until: ContinuousClock.now + patience) {
            kill(processID, SIGKILL)
        }
        var status: CInt = 0
        _ = SystemCall.uninterrupted { unsafe waitpid(processID, &status, 0) }
        return status
    }
}
