import CLinux
import Foundation
import Glibc
import TouchstoneTesting

/// A peer on a socket of packets that answers each connection by a script.
final class ScriptedBroker: Sendable {
    /// What it does with a connection, whose socket it may use until it returns.
    typealias Deed = @Sendable (CInt) -> Void

    let directory: TemporaryDirectory
    private let listener: CInt
    var path: String { directory.appending("socket") }

    /// Listens; with no deed, nobody is ever accepted.
    init(_ deed: Deed?) throws {
        directory = try TemporaryDirectory()
        let listener = socket(AF_UNIX, CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        self.listener = listener
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        let path = directory.appending("socket")
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard isBound == 0, listen(listener, 1) == 0 else { throw TestKitError.system("bind", errno: errno) }
        guard let deed else { return }
        Thread.detachNewThread {
            while true {
                let peer = accept(listener, nil, nil)
                guard peer >= 0 else { return }
                deed(peer)
                close(peer)
            }
        }
    }

    deinit {
        shutdown(listener, CInt(SHUT_RDWR))
        close(listener)
    }

    /// Reads a question.
    static func read(_ peer: CInt) {
        var pending = pollfd(fd: peer, events: Int16(POLLIN), revents: 0)
        var handle: CInt = -1
        var octets = [UInt8](repeating: 0, count: 4096)
        guard poll(&pending, 1, 10_000) > 0 else { return }
        _ = clinux_receive_packet(peer, &octets, octets.count, &handle)
        if handle >= 0 { close(handle) }
    }

    /// Answers a question with bytes, and a descriptor for one of 0 or more.
    static func answering(_ octets: [UInt8], descriptor: CInt = -1) -> Deed {
        { peer in
            read(peer)
            _ = clinux_send_packet(peer, octets, octets.count, descriptor)
        }
    }
}
