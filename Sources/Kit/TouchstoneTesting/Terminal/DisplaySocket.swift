import Glibc

/// An X display without a screen: this process listens at its socket, and answers nothing.
///
/// It has what a daemon distinguishes displays by, so that a scripted pinentry, which connects to it, can stand for a
/// prompt on it.
package final class DisplaySocket: Sendable {
    /// The directory of X servers' sockets (X(7)).
    private static let directory = "/tmp/.X11-unix"
    /// Display numbers that no real server uses.
    private static let numbers = 7000..<8000
    /// Connections are never accepted, and each one stays in the queue.
    private static let mostPrompts: CInt = 4096

    /// `:N`, for the environment variable `DISPLAY`.
    package let name: String
    /// The listening socket, for a process that takes this one's place by listen(2).
    package var descriptor: CInt { socket }

    private let path: String
    private let socket: CInt

    /// Takes a free display number.
    ///
    /// - Throws: ``TestKitError`` when no number is free, or the socket cannot be created.
    package init() throws {
        if unsafe mkdir(Self.directory, 0o1777) == 0 { _ = unsafe chmod(Self.directory, 0o1777) }
        for number in Self.numbers.shuffled() {
            let path = "\(Self.directory)/X\(number)"
            guard let descriptor = try? UnixSocket.listen(at: path, backlog: Self.mostPrompts) else {
                continue
            }
            // Like an X server's: whoever draws for the user connects.
            _ = unsafe chmod(path, 0o777)
            name = ":\(number)"
            self.path = path
            socket = descriptor
            return
        }
        throw TestKitError.unexpected("no display's number is free")
    }

    deinit {
        close(socket)
        _ = unsafe unlink(path)
    }
}
