import CLinux
import Glibc
import Synchronization
import Threads

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

    /// Whether the interrupt key was the last to send one.
    var wasInterrupted: Bool { Self.caught.load(ordering: .sequentiallyConsistent) == SIGINT }

    /// Whether the stop key was the last to send one.
    var wasStopped: Bool { Self.caught.load(ordering: .sequentiallyConsistent) == SIGTSTP }

    /// Calls `body` on another thread when a signal is caught; not any more once the returned value is destroyed.
    func whenCaught(_ body: @escaping @Sendable () -> Void) -> SignalWatch { SignalWatch(descriptor, body) }

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

/// A thread that waits for a caught signal; it ends with this value.
struct SignalWatch: ~Copyable {
    private let end: CInt

    fileprivate init(_ signals: CInt, _ body: @escaping @Sendable () -> Void) {
        end = clinux_eventfd(0)
        // Its own descriptors: the thread may run a moment longer.
        let watched = [dup(signals), dup(end)]
        let started = BlockingThread.start {
            var entries = watched.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            while unsafe poll(&entries, nfds_t(entries.count), -1) < 0, errno == EINTR {}
            if entries[0].revents != 0 { body() }
            watched.forEach { close($0) }
        }
        if started != 0 { watched.forEach { close($0) } }
    }

    deinit {
        var one: UInt64 = 1
        _ = unsafe write(end, &one, MemoryLayout<UInt64>.size)
        close(end)
    }
}
