import Glibc

/// Sockets with a path in the file system; the caller closes the descriptors that it gets.
package enum UnixSocket {
    /// The type of a socket.
    package enum Kind {
        /// `SOCK_STREAM`.
        case stream
        /// `SOCK_SEQPACKET`.
        case packets

        fileprivate var type: __socket_type {
            switch self {
            case .stream: SOCK_STREAM
            case .packets: SOCK_SEQPACKET
            }
        }
    }

    /// Connects to the socket at a path.
    ///
    /// - Parameters:
    ///   - path: the path, shorter than `sun_path` (unix(7): 108 bytes).
    ///   - kind: the socket's type.
    /// - Returns: the descriptor, with close-on-exec set.
    /// - Throws: ``TestKitError`` with the call and its error number.
    package static func connect(
        to path: String,
        _ kind: Kind = .stream
    ) throws(TestKitError) -> CInt {
        try unsafe make(kind, "connect", path) { unsafe Glibc.connect($0, $1, $2) }
    }

    /// Binds a new socket to a path, without listening on it.
    ///
    /// - Parameters:
    ///   - path: the path, as in ``connect(to:_:)``; no file may exist there.
    ///   - kind: the socket's type.
    /// - Returns: the descriptor, with close-on-exec set.
    /// - Throws: ``TestKitError`` with the call and its error number.
    package static func bind(
        to path: String,
        _ kind: Kind = .stream
    ) throws(TestKitError) -> CInt {
        try unsafe make(kind, "bind", path) { unsafe Glibc.bind($0, $1, $2) }
    }

    /// Binds a new socket to a path and listens on it.
    ///
    /// - Parameters:
    ///   - path: the path, as in ``connect(to:_:)``; no file may exist there.
    ///   - kind: the socket's type.
    ///   - backlog: how many connections may wait to be accepted (listen(2)).
    /// - Returns: the descriptor, with close-on-exec set.
    /// - Throws: ``TestKitError`` with the call and its error number.
    package static func listen(
        at path: String,
        _ kind: Kind = .stream,
        backlog: CInt
    ) throws(TestKitError) -> CInt {
        let descriptor = try bind(to: path, kind)
        guard Glibc.listen(descriptor, backlog) == 0 else { throw failure("listen", path, descriptor) }
        return descriptor
    }

    /// Creates a socket and calls `body` with it and the address of a path; closes the socket if the call fails.
    private static func make(
        _ kind: Kind,
        _ call: String,
        _ path: String,
        _ body: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws(TestKitError) -> CInt {
        let descriptor = socket(AF_UNIX, CInt(kind.type.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system("socket", errno: errno) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(path.utf8)
        guard octets.count < MemoryLayout.size(ofValue: address.sun_path) else {
            errno = ENAMETOOLONG
            throw failure(call, path, descriptor)
        }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: octets) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw failure(call, path, descriptor) }
        return descriptor
    }

    private static func failure(_ call: String, _ path: String, _ descriptor: CInt) -> TestKitError {
        let number = errno
        close(descriptor)
        return .system("\(call) \(path)", errno: number)
    }
}
