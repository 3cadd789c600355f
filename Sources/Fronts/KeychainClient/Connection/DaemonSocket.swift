import CBOR
import CLinux
import Glibc
import KeychainModel
import SecretMemory

/// The daemon that a client connects to.
enum DaemonPlace: Sendable {
    /// The user's own daemon, which a client may start.
    case perUser(Layout)
    /// The daemon with an account of its own, which the service manager starts.
    case system(SystemMode)

    var layout: Layout {
        switch self {
        case .perUser(let layout): layout
        case .system(let mode): mode.layout
        }
    }
}

/// A connected socket whose peer is this user's daemon or the system's.
struct DaemonSocket: ~Copyable, Sendable {
    /// The timeout for the daemon's greeting, and for space in the socket's send buffer.
    static let patience: Duration = .seconds(10)

    private let descriptor: CInt

    /// Connects, and checks the owners of directory and peer: this user; in system mode root for the directory, and
    /// root or the daemon's account for the peer.
    ///
    /// - Throws: ``DaemonAbsence`` if no daemon is listening, ``KeychainError`` if the owner is another one.
    init(_ place: DaemonPlace) throws {
        switch place {
        case .perUser(let layout): try Self.checkDirectory(layout.runtimeDirectory)
        case .system(let mode): try mode.checkDirectory()
        }
        let connected = try Self.connect(place.layout.socket)
        do {
            try Self.checkPeer(connected, of: place)
        } catch {
            close(connected)
            throw error
        }
        descriptor = connected
    }

    deinit { close(descriptor) }

    /// Waits for the daemon's greeting.
    ///
    /// - Throws: ``DaemonAbsence`` if the daemon exited before it accepted the connection, ``KeychainError``: the
    ///   daemon's error reply, or its silence.
    borrowing func greeting(_ receiver: inout FrameReceiver) throws -> Greeting {
        do {
            let deadline = ContinuousClock.now + Self.patience
            while true {
                if let message = try receiver.next() { return try Self.readGreeting(message) }
                guard Descriptor.isReadable(descriptor, until: deadline) else {
                    throw KeychainError.notAvailable(.daemonSilent)
                }
                guard try isClosed(reading: &receiver) else { continue }
                if receiver.holdsPart { throw WireError.closed }
                throw DaemonAbsence()
            }
        } catch let error as KeychainError {
            throw error
        } catch let error as DaemonAbsence {
            throw error
        } catch WireError.noLockedMemory(let number) {
            throw KeychainError.unintelligible(WireError.noLockedMemory(errno: number))
        } catch {
            throw KeychainError.notAvailable(.daemonRefused, detail: "\(error)")
        }
    }

    /// A listener that closes resets the connections that it did not accept.
    private borrowing func isClosed(reading receiver: inout FrameReceiver) throws(WireError) -> Bool {
        do throws(WireError) {
            return try receiver.receive(from: descriptor) == .closed
        } catch .system(errno: ECONNRESET) {
            return true
        }
    }

    private static func readGreeting(_ message: consuming ReceivedMessage) throws -> Greeting {
        try message.read { reader in
            let head = try ReplyHead(from: &reader)
            guard head.status == .success else { throw try Failure(from: &reader, status: head.status).error }
            guard head.id == 0, !head.more else { throw WireError.malformed }
            return try Greeting(from: &reader)
        }
    }

    /// Sends a complete message.
    borrowing func send(_ message: borrowing SecretBuffer) throws(WireError) {
        // The send buffer was full for `SO_SNDTIMEO`: the daemon does not read any more.
        try Frame.send(message, to: descriptor) { () throws(WireError) in throw .system(errno: ETIMEDOUT) }
    }

    /// Reads once and blocks until there is data; returns false if the daemon closed the connection.
    borrowing func receive(into receiver: inout FrameReceiver) throws(WireError) -> Bool {
        try Self.withLockedMemory(unlessGone: descriptor) { () throws(WireError) in
            try receiver.receive(from: descriptor)
        }
            != .closed
    }

    /// The next complete frame, if it has arrived.
    borrowing func next(_ receiver: inout FrameReceiver) throws(WireError) -> ReceivedMessage? {
        try Self.withLockedMemory(unlessGone: descriptor) { () throws(WireError) in try receiver.next() }
    }

    /// Retries while no memory can be locked, because the app or another connection may release some.
    ///
    /// All requests of the connection depend on the reading thread, so it retries only for a short time.
    private static func withLockedMemory<R: ~Copyable>(
        unlessGone descriptor: CInt,
        _ body: () throws(WireError) -> R
    ) throws(WireError)
        -> R
    {
        for _ in 0..<50 {
            do throws(WireError) {
                return try body()
            } catch .noLockedMemory {
                // POLLHUP and POLLERR end the pause.
                var entry = pollfd(fd: descriptor, events: 0, revents: 0)
                _ = unsafe poll(&entry, 1, 10)
            }
        }
        return try body()
    }

    /// Whether the daemon has closed its end.
    var isHungUp: Bool {
        // POLLHUP and POLLERR are always reported (poll(2)), even while there is unread data.
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    /// Ends the connection for all threads, including one that is reading; the descriptor stays open.
    borrowing func shutDown() { shutdown(descriptor, CInt(SHUT_RDWR)) }
}

/// No daemon is listening: one may be started.
struct DaemonAbsence: Error {}

extension DaemonSocket {
    private static func checkDirectory(_ path: String) throws {
        let directory = unsafe open(path, CLINUX_O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard directory >= 0 else {
            if errno == ENOENT { throw DaemonAbsence() }
            throw KeychainError.notAvailable(
                .runtimeDirectory,
                detail: SystemError.name(of: errno)
            )
        }
        defer { close(directory) }
        var status = stat()
        guard unsafe fstat(directory, &status) == 0, status.st_uid == ProcessUser.uid,
            status.st_mode & 0o777 == 0o700
        else {
            throw KeychainError.notAvailable(.runtimeDirectory, detail: "not this user's own with mode 0700")
        }
    }

    private static func connect(_ path: String) throws -> CInt {
        guard path.utf8.count <= Layout.longestSocketPath else {
            throw KeychainError.notAvailable(.socketPathTooLong)
        }
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else {
            throw KeychainError.notAvailable(.socketFailed, detail: SystemError.name(of: errno))
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { room in
            unsafe room.copyBytes(from: path.utf8)
        }
        var patience = timeval(tv_sec: Int(Self.patience.components.seconds), tv_usec: 0)
        unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_SNDTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        while true {
            let result = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
            if result == 0 { return descriptor }
            let failure = errno
            if failure == EINTR { continue }
            close(descriptor)
            if failure == ENOENT || failure == ECONNREFUSED { throw DaemonAbsence() }
            throw KeychainError.notAvailable(.connectFailed, detail: SystemError.name(of: failure))
        }
    }

    private static func checkPeer(_ descriptor: CInt, of place: DaemonPlace) throws {
        var peer: UInt32 = 0
        guard unsafe clinux_peer_uid(descriptor, &peer) == 0 else {
            throw KeychainError.notAvailable(.peerUnknown, detail: SystemError.name(of: errno))
        }
        let isTrusted =
            switch place {
            case .perUser: peer == ProcessUser.uid || peer == 0
            case .system(let mode): mode.trusts(peer: peer)
            }
        guard isTrusted else {
            throw KeychainError.notAvailable(.foreignDaemon, detail: "uid \(peer)")
        }
    }
}
