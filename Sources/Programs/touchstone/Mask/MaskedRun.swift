import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// A command run as a child process, with secrets masked in its output.
///
/// If standard input and output are terminals, the command gets its own terminal in its own session, otherwise pipes.
/// Signals and changes of the window's size are forwarded. If the command is stopped, this process stops too, and the
/// shell resumes both. The exit status is the command's.
final class MaskedRun {
    private static let held = [
        SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGPIPE, SIGTSTP, SIGCONT,
    ]

    private let terminal: RelayedTerminal?
    /// The pipe on which the session leader reports the command's status; -1 without a leader, or once it has ended.
    private var report: CInt = -1
    private var streams: [MaskedStream] = []
    private let signals: CInt
    private let processID: pid_t
    private var status: CInt?
    /// Whether the command is stopped and has not been resumed.
    private var isStopped = false

    /// Whether a command gets its own terminal.
    static var hasTerminal: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Starts the command; its own terminal belongs to `owner`, or to this process's user if nil.
    init(
        _ image: borrowing ProcessImage,
        masking secrets: ReleasedSecrets,
        terminalOf owner: UInt32? = nil
    ) throws(CommandError) {
        let isInteractive = Self.hasTerminal
        let patterns = try MaskedPattern.patterns(of: secrets)
        signals = unsafe clinux_hold_signals(Self.held, Self.held.count)
        var errorPipe = try Pipe()
        guard isInteractive else {
            terminal = nil
            // One pipe if both streams go to the same file, so that the order of writes is kept.
            let areOne = Self.areOne(STDOUT_FILENO, STDERR_FILENO)
            var outputPipe = try Pipe()
            streams.append(try MaskedStream(outputPipe.takeReadEnd(), to: STDOUT_FILENO, patterns))
            if !areOne {
                streams.append(try MaskedStream(errorPipe.takeReadEnd(), to: STDERR_FILENO, patterns))
            }
            let errors = areOne ? outputPipe.writeEnd : errorPipe.writeEnd
            processID = try image.start(output: outputPipe.writeEnd, errors: errors)
            return
        }
        let terminal = try RelayedTerminal(of: owner)
        self.terminal = terminal
        var reportPipe = try Pipe()
        streams.append(try MaskedStream(terminal.primary, to: STDOUT_FILENO, patterns))
        let isApart = isatty(STDERR_FILENO) == 0
        if isApart { streams.append(try MaskedStream(errorPipe.takeReadEnd(), to: STDERR_FILENO, patterns)) }
        processID = try image.start(
            in: clinux_session(
                terminal: terminal.secondary,
                errors: isApart ? errorPipe.writeEnd : terminal.secondary,
                report: reportPipe.writeEnd
            )
        )
        report = reportPipe.takeReadEnd()
        terminal.begin()
    }

    /// Forwards everything until the command has ended, then ends with the same status or signal.
    func finish() -> Never { Self.end(pass()) }

    /// Forwards everything until the command has ended; this process then handles its signals as before.
    ///
    /// - Returns: its exit status, or 128 plus the number of the signal that ended it.
    func wait() -> CInt {
        let status = pass()
        clinux_release_signals(signals)
        return ChildProgram.exitStatus(of: status)
    }

    /// Forwards everything until the command has ended, and returns its wait status (waitpid(2)).
    private func pass() -> CInt {
        while true {
            if let status, streams.allSatisfy({ $0.isClosed || (terminal != nil && !$0.isReady) }) {
                for stream in streams { stream.end() }
                terminal?.restore()
                return status
            }
            var entries = [signals, report].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            entries += streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
            if let terminal, status == nil { entries += terminal.entries }
            // A shell need not signal a running job that it moves to the foreground, so the state is polled.
            let isWaiting = status == nil && terminal?.hasKeys == false
            guard unsafe poll(&entries, nfds_t(entries.count), isWaiting ? 200 : -1) > 0 else {
                if isWaiting { terminal?.takeKeys() }
                continue
            }
            if entries[0].revents != 0 { passSignals() }
            if entries[1].revents != 0 { hear() }
            for (stream, entry) in zip(streams, entries.dropFirst(2)) where entry.revents != 0 {
                stream.pass()
            }
            terminal?.pass(entries.dropFirst(2 + streams.count))
        }
    }

    private func passSignals() {
        var fromTerminal = false
        while case let number = unsafe clinux_next_signal(signals, &fromTerminal), number != 0 {
            switch number {
            case SIGCHLD: reap()
            case SIGCONT: goOn()
            case SIGWINCH where terminal != nil: terminal?.copySize()
            case SIGPIPE: break
            // Ctrl-Z was typed before the terminal was in raw mode; the SIGTSTP discarded the pending SIGCONT.
            case SIGTSTP where terminal != nil && isStopped: stop(as: number)
            // If both share a terminal, it sends its signals to the command as well.
            case _ where fromTerminal && terminal == nil: break
            default: send(number)
            }
        }
    }

    private func send(_ number: CInt) {
        // Once the command has ended, its process ID may belong to another process.
        if status == nil { kill(terminal == nil ? processID : -processID, number) }
    }

    /// With a terminal, the session leader reports the status instead; it is not reaped before this process ends.
    private func reap() {
        var status: CInt = 0
        guard terminal == nil, self.status == nil,
            unsafe waitpid(processID, &status, WNOHANG | WUNTRACED) == processID
        else { return }
        take(status)
    }

    private func hear() {
        if let status = SessionLeader.status(from: report) { return take(status) }
        close(report)
        report = -1
        // The session leader was killed, and the session ended with it.
        if status == nil { status = SIGHUP }
    }

    private func take(_ status: CInt) {
        guard SessionLeader.isStopped(status) else {
            self.status = status
            return
        }
        for stream in streams where stream.isReady { stream.pass() }
        isStopped = true
        stop(as: (status >> 8) & 0xFF)
    }

    private func stop(as number: CInt) {
        terminal?.restore()
        let isContinued = Self.stop(as: number, withGroup: terminal != nil)
        // Otherwise the SIGCONT that resumed this process is pending, and is read next.
        if !isContinued { goOn() }
    }

    /// Resumes the command, after the shell or another process resumed this one.
    private func goOn() {
        isStopped = false
        terminal?.takeKeys()
        send(SIGCONT)
    }

    /// Stops this process with the signal that stopped the command.
    ///
    /// With `withGroup`, stops the shell's whole job (this process group), because the key that stopped the command had
    /// no effect on the rest of it.
    ///
    /// - Returns: once resumed, whether a SIGCONT is pending. There is none if the kernel did not stop the process,
    ///   because no shell could resume it (an orphaned process group).
    private static func stop(as number: CInt, withGroup: Bool) -> Bool {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = SIG_DFL
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, number)
        if number != SIGSTOP { unsafe sigaction(number, &action, nil) }
        kill(withGroup && number != SIGSTOP ? 0 : getpid(), number)
        var before = sigset_t()
        unsafe sigprocmask(SIG_UNBLOCK, &set, &before)
        unsafe sigprocmask(SIG_SETMASK, &before, nil)
        unsafe sigpending(&set)
        return unsafe sigismember(&set, SIGCONT) == 1
    }

    private static func end(_ status: CInt) -> Never {
        let number = status & 0x7F
        guard number != 0 else { exit((status >> 8) & 0xFF) }
        // No second core dump beside the command's own.
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = SIG_DFL
        unsafe sigaction(number, &action, nil)
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        unsafe sigprocmask(SIG_SETMASK, &mask, nil)
        kill(getpid(), number)
        exit(128 + number)
    }

    private static func areOne(_ first: CInt, _ second: CInt) -> Bool {
        var (left, right) = (stat(), stat())
        guard unsafe fstat(first, &left) == 0, unsafe fstat(second, &right) == 0 else { return false }
        return left.st_dev == right.st_dev && left.st_ino == right.st_ino
    }
}
