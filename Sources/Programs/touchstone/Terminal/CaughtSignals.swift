import CLinux
import Glibc
import Synchronization

/// Defers signals that would leave the terminal without echo; one instance at a time in a process.
struct CaughtSignals: ~Copyable {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    /// The caught signal, and the eventfd that it makes readable: the handler may touch nothing else.
    private static let caught = Atomic<CInt>(0)
    private static let wake = Atomic<CInt>(-1)

    /// Readable once a signal was caught.
    let descriptor: CInt
    private var held: [(number: CInt, before: sigaction)] = []

    /// Defers the signals that are not ignored.
    init?() {
        descriptor = clinux_eventfd(0)
        guard descriptor >= 0 else { return nil }
        Self.caught.store(0, ordering: .sequentiallyConsistent)
        Self.wake.store(descriptor, ordering: .sequentiallyConsistent)
        for number in Self.numbers {
            var before = sigaction()
            unsafe sigaction(number, nil, &before)
            // Ignored under nohup(1), for example.
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

    /// Whether a signal was caught.
    var hasCaught: Bool { Self.caught.load(ordering: .sequentiallyConsistent) != 0 }

    /// Performs the default action of the caught signal; returns if the program continues after it.
    ///
    /// Not the previous handler: Swift's runtime treats SIGQUIT as a crash.
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
