import CLinux
import Glibc
import Synchronization

/// Holds signals back that would leave the terminal without echo; one at a time in a process.
struct CaughtSignals: ~Copyable {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    /// The signal that came, and the eventfd that it makes readable: the handler may touch nothing else.
    private static let caught = Atomic<CInt>(0)
    private static let wake = Atomic<CInt>(-1)

    /// Readable once a signal came.
    let descriptor: CInt
    private var held: [(number: CInt, before: sigaction)] = []

    /// Holds the signals back that were not ignored.
    init?() {
        descriptor = clinux_eventfd(0)
        guard descriptor >= 0 else { return nil }
        Self.caught.store(0, ordering: .sequentiallyConsistent)
        Self.wake.store(descriptor, ordering: .sequentiallyConsistent)
        for number in Self.numbers {
            var before = sigaction()
            unsafe sigaction(number, nil, &before)
            // Under nohup(1), for example.
            if Self.isIgnored(before) { continue }
            held.append((number, before))
            Self.hold(number)
        }
    }

    deinit {
        for action in held {
            var before = action.before
            unsafe sigaction(action.number, &before, nil)
        }
        close(descriptor)
    }

    /// Whether a signal came.
    var hasCaught: Bool { Self.caught.load(ordering: .sequentiallyConsistent) != 0 }

    /// Lets the signal that came do what it does by default; returns if the program goes on after it.
    ///
    /// Not what was set before: Swift's runtime takes SIGQUIT for a crash.
    func deliver() {
        let number = Self.caught.exchange(0, ordering: .sequentiallyConsistent)
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
        var standard = sigaction()
        unsafe standard.__sigaction_handler.sa_handler = SIG_DFL
        unsafe sigaction(number, &standard, nil)
        kill(getpid(), number)
        Self.hold(number)
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        return unsafe handler == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func hold(_ number: CInt) {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = { number in
            let failure = errno
            CaughtSignals.caught.store(number, ordering: .sequentiallyConsistent)
            var one: UInt64 = 1
            let wake = CaughtSignals.wake.load(ordering: .sequentiallyConsistent)
            _ = unsafe write(wake, &one, MemoryLayout<UInt64>.size)
            errno = failure
        }
        unsafe sigaction(number, &action, nil)
    }
}
