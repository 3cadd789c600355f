import CLinux
import Glibc

/// A UNIX stream socket that carries a TPM's commands and answers.
final class StreamSocket: Sendable {
    let descriptor: CInt

    init(adopting descriptor: CInt) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Connects to a path.
    convenience init(connectedTo path: String) throws {
        self.init(adopting: try Self.make())
        let result = try unsafe Self.withAddress(path) { address, count in
            unsafe connect(descriptor, address, count)
        }
        guard result == 0 else { throw TestKitError.system("connect", errno: errno) }
    }

    /// Listens at a path.
    convenience init(listeningAt path: String) throws {
        self.init(adopting: try Self.make())
        let result = try unsafe Self.withAddress(path) { address, count in
            unsafe bind(descriptor, address, count)
        }
        guard result == 0, listen(descriptor, 8) == 0 else { throw TestKitError.system("bind", errno: errno) }
    }

    /// The next connection; nil when the socket was shut down.
    func accepted() -> StreamSocket? {
        let descriptor = clinux_accept(descriptor)
        return descriptor < 0 ? nil : StreamSocket(adopting: descriptor)
    }

    /// Ends all waiting on the socket.
    func shutDown() { shutdown(descriptor, CInt(SHUT_RDWR)) }

    /// Sends bytes, and waits for one whole answer; shorter when none came in time.
    func exchange(_ octets: [UInt8], atMost limit: Duration) throws -> [UInt8] {
        var time = timeval(tv_sec: Int(limit.components.seconds), tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        guard write(octets) else { throw TestKitError.system("send", errno: errno) }
        return readMessage() ?? []
    }

    /// Sends all bytes; false when the peer is gone.
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

    /// Reads one command or answer: tag, size of the whole in 4 bytes, the rest; nil at the end.
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

    private static func make() throws -> CInt {
        let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestKitError.system("socket", errno: errno) }
        return descriptor
    }

    private static func withAddress<R>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> R
    ) throws -> R {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = Array(path.utf8)
        let fits = unsafe withUnsafeMutableBytes(of: &address.sun_path) { place in
            guard octets.count < place.count else { return false }
            unsafe place.copyBytes(from: octets)
            return true
        }
        guard fits else { throw TestKitError.unexpected("the path of a socket is too long: \(path)") }
        return unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
