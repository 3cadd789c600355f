import Foundation
import Glibc
import TouchstoneTesting

/// A peer on a socket of packets that answers every question as the broker does about a process that has ended.
final class AnsweringBroker: Sendable {
    /// The map `{"refused": "no process"}`.
    private static let answer: [UInt8] =
        [0xA1, 0x67] + Array("refused".utf8) + [0x6A] + Array("no process".utf8)

    private let listener: CInt

    /// Listens at a path.
    init(at path: String) throws {
        let listener = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        // What is thrown from here on ends in `deinit`, which closes the socket.
        guard isBound == 0, listen(listener, 16) == 0 else { throw TestKitError.system("bind", errno: errno) }
        Thread.detachNewThread {
            while true {
                let peer = accept(listener, nil, nil)
                guard peer >= 0 else { return }
                var octets = [UInt8](repeating: 0, count: 4096)
                // The descriptor that comes with the question finds no room, and is closed by the kernel.
                if recv(peer, &octets, octets.count, 0) > 0 {
                    _ = send(peer, Self.answer, Self.answer.count, CInt(MSG_NOSIGNAL))
                }
                close(peer)
            }
        }
    }

    deinit {
        shutdown(listener, CInt(SHUT_RDWR))
        close(listener)
    }
}
