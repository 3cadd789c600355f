import CLinux
import Glibc
package import KeychainModel

/// The process at the other end of a socket, as the kernel recorded it when it connected.
package struct PeerCredentials {
    /// Its user.
    package let uid: UInt32
    /// Its effective group: for a set-gid program, that of the program's file.
    package let gid: UInt32
    /// Its pid.
    package let pid: Int32
    /// A pidfd of the process; nil if it has exited.
    package let process: ClientProcess?

    /// Queries the kernel for the peer of `socket`, whose messages carry their senders' credentials from then on, as those of
    /// accepted sockets do.
    package init(of socket: CInt) throws(ServerError) {
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(socket, &peer) == 0 else {
            throw ServerError(call: "getsockopt SO_PEERCRED", errno: errno)
        }
        guard clinux_pass_credentials(socket) == 0 else {
            throw ServerError(call: "setsockopt SO_PASSCRED", errno: errno)
        }
        uid = peer.uid
        gid = peer.gid
        pid = peer.pid
        var handle = clinux_peer_pidfd(socket)
        if handle < 0 { handle = clinux_pidfd_open(peer.pid) }
        process = handle < 0 ? nil : ClientProcess(pid: peer.pid, handle: handle)
    }
}
