import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// A command that runs beside this process, with secrets masked in what it writes.
///
/// Where standard input and output are a terminal, the command gets a terminal of its own in a session of its own, and
/// otherwise pipes. Signals and the size of the window are passed on; the end is the command's own.
final class MaskedRun {
    private static let held = [
        SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGPIPE,
    ]

    private let terminal: RelayedTerminal?
    private var streams: [MaskedStream] = []
    private let signals: CInt
    private let processID: pid_t
    private var status: CInt?

    /// Starts the command.
    init(_ image: borrowing ProcessImage, masking secrets: ReleasedSecrets) throws(CommandError) {
        let isInteractive = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1
        let patterns = try MaskedPattern.patterns(of: secrets)
        signals = unsafe clinux_hold_signals(Self.held, Self.held.count)
        let terminal = isInteractive ? try RelayedTerminal() : nil
        self.terminal = terminal
        var (output, errors): (CInt, CInt) = (terminal?.secondary ?? -1, terminal?.secondary ?? -1)
        if let terminal { streams.append(try MaskedStream(terminal.primary, to: STDOUT_FILENO, patterns)) }
        // One pipe for both where both go to one place: what was written first stays first.
        let areOne = Self.areOne(STDOUT_FILENO, STDERR_FILENO)
        var outputPipe = try Pipe()
        var errorPipe = try Pipe()
        if terminal == nil {
            output = outputPipe.writeEnd
            streams.append(try MaskedStream(outputPipe.takeReadEnd(), to: STDOUT_FILENO, patterns))
        }
        if terminal == nil && !areOne || terminal != nil && isatty(STDERR_FILENO) == 0 {
            errors = errorPipe.writeEnd
            streams.append(try MaskedStream(errorPipe.takeReadEnd(), to: STDERR_FILENO, patterns))
        } else if terminal == nil {
            errors = output
        }
        processID = try image.start(
            input: terminal?.secondary ?? -1,
            output: output,
            errors: errors,
            ownsTerminal: terminal != nil
        )
        terminal?.begin()
    }

    /// Passes everything on until the command has ended, then ends as it did.
    func finish() -> Never {
        while true {
            if let status, streams.allSatisfy({ $0.isClosed || (terminal != nil && !$0.isReady) }) {
                for stream in streams { stream.end() }
                terminal?.restore()
                Self.end(status)
            }
            var entries = [pollfd(fd: signals, events: Int16(POLLIN), revents: 0)]
            entries += streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
            if let terminal, status == nil { entries += terminal.entries }
            guard unsafe poll(&entries, nfds_t(entries.count), -1) > 0 else { continue }
            if entries[0].revents != 0 { passSignals() }
            for (stream, entry) in zip(streams, entries.dropFirst()) where entry.revents != 0 {
                stream.pass()
            }
            terminal?.pass(entries.dropFirst(1 + streams.count))
        }
    }

    private func passSignals() {
        var fromTerminal = false
        while case let number = unsafe clinux_next_signal(signals, &fromTerminal), number != 0 {
            switch number {
            case SIGCHLD: reap()
            case SIGWINCH where terminal != nil: terminal?.copySize()
            case SIGPIPE: break
            // The terminal sends it to the command as well, where both share one.
            case _ where fromTerminal && terminal == nil: break
            default: kill(terminal == nil ? processID : -processID, number)
            }
        }
    }

    private func reap() {
        var status: CInt = 0
        guard unsafe waitpid(processID, &status, WNOHANG | WUNTRACED) == processID else { return }
        if status & 0xFF == 0x7F {
            // The key that stops it stops this process as well, until the shell goes on with both.
            if terminal == nil {
                kill(getpid(), SIGSTOP)
                kill(processID, SIGCONT)
            }
        } else {
            self.status = status
        }
    }

    private static func end(_ status: CInt) -> Never {
        let number = status & 0x7F
        guard number != 0 else { exit((status >> 8) & 0xFF) }
        // No second core beside the command's own.
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

/// One stream of a command, masked on its way.
final class MaskedStream {
    /// What is read from; -1 once it has ended.
    private(set) var source: CInt
    private let target: CInt
    private var filter: MaskingFilter
    /// The most that is passed on at once, in bytes.
    private static let largestPiece = 1 << 16
    private var room: SecretBuffer
    private var isBroken = false

    init(_ source: CInt, to target: CInt, _ patterns: [MaskedPattern]) throws(CommandError) {
        self.source = source
        self.target = target
        filter = try MaskingFilter(patterns, largestPiece: Self.largestPiece)
        room = try CommandMemory.buffer(Self.largestPiece)
    }

    /// Whether its end was read.
    var isClosed: Bool { source < 0 }

    /// Whether there is something to read now.
    var isReady: Bool { Descriptor.isReadable(source, until: .now) }

    /// Passes on what is there, at most 64 KiB.
    func pass() {
        room.removeAll(keepingCapacity: true)
        var result = 0
        _ = unsafe room.append(upTo: Self.largestPiece) { room in
            result = unsafe read(source, room.baseAddress, room.count)
            return max(0, result)
        }
        if result < 0, errno == EINTR || errno == EAGAIN { return }
        // A terminal whose programs are gone reads as an error.
        if result <= 0 { return end() }
        unsafe room.withUnsafeBytes { unsafe write($0, isEnd: false) }
    }

    /// Writes what was held back.
    func end() {
        guard source >= 0 else { return }
        close(source)
        source = -1
        unsafe write(UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true)
    }

    private func write(_ octets: UnsafeRawBufferPointer, isEnd: Bool) {
        unsafe filter.filter(octets, isEnd: isEnd) { octets in
            guard !isBroken else { return }
            if unsafe !Descriptor.write(octets, to: target) { isBroken = true }
        }
        // Nobody reads any more: the command is told so by its own pipe.
        if isBroken, source >= 0 {
            close(source)
            source = -1
        }
    }
}
