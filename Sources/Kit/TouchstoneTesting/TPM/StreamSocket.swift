import CLinux
import Glibc

/// A UNIX stream socket that carries TPM commands and responses.
final class StreamSocket: Sendable {
    let descriptor: CInt

    init(adopting descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Connects to a path.
    convenience init(connectedTo path: String) throws {
        self.init(adopting: try UnixSocket.connect(to: path))
    }

    /// Listens at a path.
    convenience init(listeningAt path: String) throws {
        self.init(adopting: try UnixSocket.listen(at: path, backlog: 8))
    }

    /// Accepts the next connection; nil when the socket was shut down.
    func accepted() -> StreamSocket? {
        let descriptor = clinux_accept(descriptor)
        return descriptor < 0 ? nil : StreamSocket(adopting: descriptor)
    }

    /// Ends all blocked calls on the socket.
    func shutDown() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Sends bytes and waits for one whole response; the result is shorter if it did not arrive in time.
    func exchange(_ octets: [UInt8], atMost limit: Duration) throws -> [UInt8] {
        var time = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        guard write(octets) else { throw TestKitError.system("send", errno: errno) }
        return readMessage() ?? []
    }

    /// Sends all bytes; false when the peer has disconnected.
    func write(_ octets: [UInt8]) -> Bool {
        var sent = 0
        while sent < octets.count {
            let result = unsafe octets.withUnsafeBytes { octets in
                unsafe send(
                    descriptor,
                    octets.baseAddress.map { unsafe $0 + sent },
                    octets.count - sent,
                    CInt(MSG_NOSIGNAL)
                )
            }
            guard result > 0 else { return false }
            sent += result
        }
        return true
    }

    /// Reads one command or response: tag, total size in 4 bytes, the rest; nil at the end.
    func readMessage() -> [UInt8]? {
        guard let head = read(6) else { return nil }
        let count = head[2..<6].reduce(0) { $0 << 8 | Int($1) }
        guard (10...8192).contains(count), let rest = read(count - 6) else { return nil }
        return head + rest
    }

    private func read(_ count: Int) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let result = unsafe octets.withUnsafeMutableBytes { octets in
                unsafe recv(descriptor, octets.baseAddress.map { unsafe $0 + filled }, count - filled, 0)
            }
            guard result > 0 else { return nil }
            filled += result
        }
        return octets
    }
}
