import CLinux
import Glibc
public import KeychainModel
import SystemFacts

/// A socket that clients connect to; the daemon's main one with the lock that ensures one daemon per user.
public struct Listener: ~Copyable, Sendable {
    private static let backlog: CInt = 4096

    /// The listening socket, close-on-exec and non-blocking.
    package let socket: CInt
    /// The lock file's descriptor; -1 for a socket beside another one, whose lock is enough.
    private let lock: CInt
    /// The path to remove at the end; nil for a socket adopted from the service manager.
    private let path: String?
    /// An inotify(7) descriptor for changes of the directory's names; -1 for an adopted socket, or if no watch is
    /// left.
    package let changes: CInt
    /// The file that the path named after bind(2).
    private let file: ProcessDirectory.FileIdentity?

    /// Creates the socket in the runtime directory, mode 0600.
    ///
    /// A socket left there by an earlier daemon is removed, but only once this one holds the lock.
    /// - Throws: ``ServerError`` `alreadyRunning` when another daemon holds the lock.
    public init(at layout: Layout) throws(ServerError) {
        let path = layout.socket
        try Self.check(path)
        try RuntimeDirectory.prepare(layout.runtimeDirectory)
        let lock = try Self.takeLock(layout.lockFile)
        do throws(ServerError) {
            socket = try Self.bind(path)
        } catch {
            close(lock)
            throw error
        }
        self.lock = lock
        self.path = path
        changes = Self.watch(layout.runtimeDirectory)
        file = ProcessDirectory.FileIdentity(path, follows: false)
    }

    /// Creates another socket in the directory of the main one, mode 0600, once its lock is held.
    package init(besideMain path: String) throws(ServerError) {
        try Self.check(path)
        try RuntimeDirectory.prepare(ProgramPath.directory(of: path))
        socket = try Self.bind(path)
        lock = -1
        self.path = path
        changes = -1
        file = ProcessDirectory.FileIdentity(path, follows: false)
    }

    private static func check(_ path: String) throws(ServerError) {
        guard path.utf8.count <= Layout.longestSocketPath else {
            throw ServerError(.pathTooLong, "\(path) has more than \(Layout.longestSocketPath) bytes")
        }
    }

    /// Whether the path still names this socket; always true for an adopted socket.
    package borrowing func hasItsName() -> Bool {
        guard let path, let file else { return true }
        return ProcessDirectory.FileIdentity(path, follows: false) == file
    }

    /// Discards the events of ``changes``: only the present state counts.
    package borrowing func takeChanges() {
        var octets = [UInt8](repeating: 0, count: 4096)
        while unsafe read(changes, &octets, octets.count) > 0 {}
    }

    private static func watch(_ directory: String) -> CInt {
        let descriptor = inotify_init1(CInt(IN_CLOEXEC) | CInt(IN_NONBLOCK))
        guard descriptor >= 0 else { return -1 }
        let events = UInt32(
            IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MOVE_SELF | IN_DELETE_SELF
        )
        guard unsafe inotify_add_watch(descriptor, directory, events) >= 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    /// Adopts a listening socket from the service manager, and takes the lock.
    public init(adopting socket: CInt, layout: Layout) throws(ServerError) {
        try Self.checkListens(socket)
        // The location of the socket is up to the service manager.
        try RuntimeDirectory.prepare(ProgramPath.directory(of: layout.lockFile))
        let lock = try Self.takeLock(layout.lockFile)
        do throws(ServerError) {
            try Self.prepare(socket)
        } catch {
            close(lock)
            throw error
        }
        self.init(adopted: socket, lock: lock)
    }

    /// Adopts another listening socket from the service manager, once the main one's lock is held.
    package init(adoptingBesideMain socket: CInt) throws(ServerError) {
        try Self.checkListens(socket)
        try Self.prepare(socket)
        self.init(adopted: socket, lock: -1)
    }

    private init(adopted socket: CInt, lock: CInt) {
        self.socket = socket
        self.lock = lock
        path = nil
        changes = -1
        file = nil
    }

    private static func checkListens(_ socket: CInt) throws(ServerError) {
        var isListening: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0,
            isListening == 1
        else { throw ServerError(.notASocket, "descriptor \(socket) does not listen") }
    }

    private static func prepare(_ socket: CInt) throws(ServerError) {
        guard fcntl(socket, F_SETFD, FD_CLOEXEC) == 0, fcntl(socket, F_SETFL, O_NONBLOCK) == 0,
            clinux_pass_credentials(socket) == 0
        else { throw ServerError(call: "fcntl or setsockopt", errno: errno) }
    }

    /// The path that a socket is bound to; nil without one.
    package static func path(of socket: CInt) -> String? {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(socket, $0, &length)
            }
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return nil }
        let path = unsafe withUnsafeBytes(of: &address.sun_path) { octets in
            unsafe String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
        }
        return path.isEmpty ? nil : path
    }

    /// Removes the socket's name: the next client starts another daemon.
    public borrowing func removeName() {
        if let path { _ = unsafe unlink(path) }
    }

    /// Whether a daemon accepts connections on the socket of this layout.
    public static func isAnswering(at layout: Layout) -> Bool {
        let descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return unsafe withAddress(layout.socket) { unsafe connect(descriptor, $0, $1) } == 0
    }

    deinit {
        close(socket)
        if changes >= 0 { close(changes) }
        guard lock >= 0 else { return }
        // Closing alone is not enough: a process that is just being started may hold a copy of the descriptor.
        flock(lock, LOCK_UN)
        close(lock)
    }

    private static func takeLock(_ path: String) throws(ServerError) -> CInt {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            guard errno == ELOOP else { throw ServerError(call: "open \(path)", errno: errno) }
            throw ServerError(.unsafePath, "\(path) is a symbolic link")
        }
        var status = stat()
        let isOurs =
            unsafe fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_uid == ProcessUser.uid && status.st_nlink == 1
        guard isOurs else {
            close(descriptor)
            throw ServerError(.unsafePath, "\(path) is not a file of ours alone")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            guard number == EWOULDBLOCK else { throw ServerError(call: "flock \(path)", errno: number) }
            throw ServerError(.alreadyRunning, "another daemon holds \(path)")
        }
        return descriptor
    }

    private static func bind(_ path: String) throws(ServerError) -> CInt {
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = Glibc.socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { throw ServerError(call: "socket", errno: errno) }
        do throws(ServerError) {
            guard unsafe unlink(path) == 0 || errno == ENOENT else {
                throw ServerError(call: "unlink \(path)", errno: errno)
            }
            // Accepted sockets inherit it: every message carries its sender's credentials.
            guard clinux_pass_credentials(descriptor) == 0 else {
                throw ServerError(call: "setsockopt SO_PASSCRED", errno: errno)
            }
            // bind(2) creates the name with the socket's own mode (unix(7)): it is never accessible to others.
            guard fchmod(descriptor, 0o600) == 0 else { throw ServerError(call: "fchmod", errno: errno) }
            guard unsafe withAddress(path, { unsafe Glibc.bind(descriptor, $0, $1) }) == 0 else {
                throw ServerError(call: "bind \(path)", errno: errno)
            }
            guard listen(descriptor, backlog) == 0 else { throw ServerError(call: "listen", errno: errno) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private static func withAddress(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) -> CInt {
        var address = sockaddr_un()
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
