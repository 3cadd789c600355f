import CLinux
import Glibc

/// What has the agent end: signals, and the end of the program that started it for itself.
struct AgentSignals: Sendable {
    /// What happened.
    enum Event: Sendable {
        /// Nobody needs the agent any more: no further box, but the one that is up may be of another program.
        case notNeeded
        /// Ctrl-C at the terminal, which is meant for whoever is in the foreground.
        case interrupted
        /// The service manager ends it, at once.
        case ended
    }

    private let descriptor: CInt
    /// Whether standard input is a pipe, whose other end the starting program holds for as long as it needs the agent.
    private let hasLifeline: Bool

    /// Holds the signals, for all threads that come.
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

    /// Tells the starting program, where it listens, that boxes can come.
    static func tellReady() {
        guard isPipe(STDOUT_FILENO) else { return }
        let octets = Array("ready\n".utf8)
        _ = unsafe write(STDOUT_FILENO, octets, octets.count)
    }

    /// Waits for the next event; without the lifeline once that has ended.
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
                // What is written to it means nothing.
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
