import CLinux
import Glibc
import SecretMemory
import Threads

/// Accepts clients on a listening socket, on a thread of its own, until it is stopped.
package final class Acceptor: Sendable {
    /// What happens at the socket, told on that thread.
    package enum Event: Sendable {
        /// A client connected; the receiver owns the socket.
        case client(CInt)
        /// A client was turned away, for want of descriptors or memory; the reason.
        case refused(String)
        /// The names in the socket's directory changed: whether its path no longer leads to it.
        case nameChecked(isLost: Bool)
    }

    /// How long to wait before the next attempt when descriptors or memory ran out, in milliseconds.
    private static let pause: CInt = 50
    private static let descriptorsKept: CInt = 8

    private let stopSignal: CInt
    /// Connections with descriptors from this number on are closed, so that the rest of the daemon has some: libdispatch opens a file each
    /// second to watch its threads, and ends the process if it cannot.
    private let mostDescriptors: CInt = {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return CInt(clamping: limit.rlim_cur) - descriptorsKept
    }()

    /// Prepares to accept.
    init() throws(ServerError) {
        stopSignal = clinux_eventfd(0)
        guard stopSignal >= 0 else { throw ServerError(call: "eventfd", errno: errno) }
    }

    deinit { close(stopSignal) }

    /// Starts to accept clients; once.
    ///
    /// `ended` is called when the socket was closed, after the last event.
    func start(
        _ listener: consuming Listener,
        tell: @escaping @Sendable (Event) -> Void,
        ended: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let box = ListenerBox(listener)
        let failure = BlockingThread.start { [self] in
            if let listener = box.take() { acceptClients(on: listener, tell) }
            ended()
        }
        guard failure == 0 else { throw ServerError(call: "pthread_create", errno: failure) }
    }

    /// Stops accepting.
    func stop() {
        var one: UInt64 = 1
        _ = unsafe write(stopSignal, &one, MemoryLayout<UInt64>.size)
    }

    private func acceptClients(on listener: borrowing Listener, _ tell: (Event) -> Void) {
        // Closed when no descriptor is left, so that a client can be refused instead of left waiting.
        var spare = Self.openSpare()
        func refuse(_ socket: CInt, _ number: CInt) {
            guard socket >= 0 else { return }
            tell(.refused(ServerError(call: "accept", errno: number).detail))
            close(socket)
        }
        while true {
            let wake = waitForClient(listener.socket, changes: listener.changes)
            guard !wake.stops else { break }
            if listener.changes >= 0 {
                listener.takeChanges()
                tell(.nameChecked(isLost: !listener.hasItsName()))
            }
            guard wake.isClient else { continue }
            let socket = clinux_accept(listener.socket)
            if socket >= 0 {
                guard socket >= mostDescriptors else {
                    tell(.client(socket))
                    continue
                }
                refuse(socket, EMFILE)
                waitForStop()
                continue
            }
            let failure = errno
            // The client disconnected, or a signal came: another client may be waiting already.
            if failure == ECONNABORTED || failure == EINTR { continue }
            if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(failure) {
                if spare >= 0 { close(spare) }
                refuse(clinux_accept(listener.socket), failure)
                spare = Self.openSpare()
            }
            waitForStop()
        }
        if spare >= 0 { close(spare) }
        listener.removeName()
    }

    private static func openSpare() -> CInt { unsafe open("/dev/null", O_RDONLY | O_CLOEXEC) }

    /// Waits for the stop signal, a client or a change of the socket's directory.
    private func waitForClient(_ socket: CInt, changes: CInt) -> (stops: Bool, isClient: Bool) {
        var descriptors = (
            pollfd(fd: stopSignal, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: changes, events: Int16(POLLIN), revents: 0)
        )
        _ = unsafe withUnsafeMutablePointer(to: &descriptors) { pair in
            unsafe pair.withMemoryRebound(to: pollfd.self, capacity: 3) { unsafe poll($0, 3, -1) }
        }
        // If a signal ended the wait, no descriptor is ready: accept(2) then reports that no client is waiting.
        return (descriptors.0.revents != 0, descriptors.1.revents != 0 || descriptors.2.revents == 0)
    }

    private func waitForStop() {
        var descriptor = pollfd(fd: stopSignal, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, Self.pause)
    }
}

/// Carries the listener, which cannot be copied, to the accepting thread.
private final class ListenerBox: Sendable {
    private let listener: Guarded<Listener?>

    init(_ listener: consuming Listener) { self.listener = Guarded(listener) }

    func take() -> Listener? { listener.withLock { $0.take() } }
}
