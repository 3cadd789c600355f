import CLinux
import Foundation
import Glibc

/// A peer on a `SOCK_SEQPACKET` socket that answers each connection by a script, in place of system mode's broker.
package final class ScriptedBroker: Sendable {
    /// Handles a connection, whose socket it may use until it returns.
    package typealias Deed = @Sendable (CInt) -> Void

    /// The path of its socket.
    package let path: String
    private let listener: CInt
    private let directory: TemporaryDirectory?

    /// Listens; without a deed, no connection is ever accepted.
    ///
    /// - Parameters:
    ///   - path: the path of its socket; nil for one in a directory of its own.
    ///   - backlog: how many connections may wait to be accepted (listen(2)).
    ///   - deed: handles each connection.
    /// - Throws: ``TestKitError`` when the directory or the socket cannot be created.
    package init(at path: String? = nil, backlog: CInt = 1, _ deed: Deed?) throws {
        let directory = path == nil ? try TemporaryDirectory() : nil
        let path = path ?? directory?.appending("socket") ?? ""
        self.directory = directory
        self.path = path
        let listener = try UnixSocket.listen(at: path, .packets, backlog: backlog)
        self.listener = listener
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

    /// Reads a request.
    package static func read(_ peer: CInt) {
        var pending = pollfd(fd: peer, events: Int16(POLLIN), revents: 0)
        var handle: CInt = -1
        var octets = [UInt8](repeating: 0, count: 4096)
        guard unsafe poll(&pending, 1, 10_000) > 0 else { return }
        _ = unsafe clinux_receive_packet(peer, &octets, octets.count, &handle)
        if handle >= 0 { close(handle) }
    }

    /// Replies with bytes, and with a descriptor if it is 0 or more.
    package static func answering(_ octets: [UInt8], descriptor: CInt = -1) -> Deed {
        { peer in
            read(peer)
            _ = unsafe clinux_send_packet(peer, octets, octets.count, descriptor)
        }
    }
}
