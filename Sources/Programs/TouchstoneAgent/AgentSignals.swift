import CLinux
import Glibc

/// The events that end the agent: signals, and the exit of the program that started it.
struct AgentSignals: Sendable {
    /// An event that ends the agent.
    enum Event: Sendable {
        /// The starting program has exited: no further prompt, but the one shown may belong to another program.
        case notNeeded
        /// Ctrl-C at the terminal, which is meant for the foreground program.
        case interrupted
        /// The service manager ends the agent at once.
        case ended
    }

    private let descriptor: CInt
    /// Whether standard input is a pipe, whose other end the starting program holds for as long as it needs the agent.
    private let hasLifeline: Bool

    /// Blocks the signals, for all threads started later.
    init() throws(AgentFailure) {
        let held = [SIGTERM, SIGINT, SIGHUP]
        descriptor = unsafe clinux_hold_signals(held, held.count)
        guard descriptor >= 0 else {
            throw AgentFailure(
                message: "signals cannot be held",
                hint: "raise the limit on open files (ulimit -n)"
            )
        }
        hasLifeline = Self.isPipe(STDIN_FILENO)
    }

    /// Tells the starting program, if its end of the pipe is there, that the agent can draw prompts.
    static func tellReady() {
        guard isPipe(STDOUT_FILENO) else { return }
        let octets = Array("ready\n".utf8)
        _ = unsafe write(STDOUT_FILENO, octets, octets.count)
    }

    /// Waits for the next event; pass false once the lifeline has ended.
    func next(withLifeline: Bool = true) -> Event {
        while true {
            var watched = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(
                    fd: hasLifeline && withLifeline ? STDIN_FILENO : -1,
                    events: Int16(POLLIN),
                    revents: 0
                ),
            ]
            guard unsafe poll(&watched, 2, -1) > 0 else { continue }
            var isFromTerminal = false
            switch unsafe clinux_next_signal(descriptor, &isFromTerminal) {
            case SIGTERM: return .ended
            case SIGINT: return .interrupted
            case SIGHUP: return .notNeeded
            default: break
            }
            if watched[1].revents != 0 {
                // Bytes written to the lifeline are ignored.
                var octet: UInt8 = 0
                if unsafe read(STDIN_FILENO, &octet, 1) <= 0 { return .notNeeded }
            }
        }
    }

    private static func isPipe(_ descriptor: CInt) -> Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }
}
