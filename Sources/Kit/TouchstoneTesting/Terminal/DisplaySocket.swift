import Glibc

/// A display that nothing draws on: the socket of an X server that none listens at.
///
/// What a daemon tells displays apart by is there, so that a scripted pinentry can stand for a box on it.
package final class DisplaySocket: Sendable {
    /// The directory of X servers' sockets (X(7)).
    private static let directory = "/tmp/.X11-unix"
    /// Numbers that no real server takes.
    private static let numbers = 7000..<8000

    /// `:N`, for the environment variable `DISPLAY`.
    package let name: String
    private let path: String
    private let socket: CInt

    /// Takes a number that is free.
    ///
    /// - Throws: ``TestKitError`` when none is, or the socket cannot be made.
    package init() throws {
        if unsafe mkdir(Self.directory, 0o1777) == 0 { _ = unsafe chmod(Self.directory, 0o1777) }
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw TestKitError.unexpected("no socket: errno \(errno)") }
        for number in Self.numbers.shuffled() {
            let path = "\(Self.directory)/X\(number)"
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
            let isBound = unsafe withUnsafeBytes(of: &address) { octets in
                unsafe bind(
                    descriptor,
                    octets.assumingMemoryBound(to: sockaddr.self).baseAddress,
                    socklen_t(octets.count)
                ) == 0
            }
            guard isBound else { continue }
            name = ":\(number)"
            self.path = path
            socket = descriptor
            return
        }
        close(descriptor)
        throw TestKitError.unexpected("no display's number is free")
    }

    deinit {
        close(socket)
        _ = unsafe unlink(path)
    }
}
