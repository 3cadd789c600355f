import CLinux
import Glibc

/// The process at the other end of a socket, as the kernel recorded it when it connected.
struct PeerCredentials {
    let uid: UInt32
    /// Its effective group: that of the program's file where that is set-gid.
    let gid: UInt32
    let pid: Int32
    /// When the process started, in clock ticks since boot; 0 when it cannot be told.
    let processStart: UInt64
    /// Its program and what tells whether it still runs it; nil when it cannot be told for sure.
    let program: Program?

    /// A program that was told for sure.
    struct Program {
        let process: PeerProcess
        let path: String
        let file: PeerProcess.FileIdentity
    }

    /// Asks the kernel about the peer of `socket`.
    ///
    /// The number of a process may be used again: what was found counts only if the very process that connected
    /// still runs after it was found.
    init(of socket: CInt) throws(ServerError) {
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(socket, &peer) == 0 else {
            throw ServerError(call: "getsockopt SO_PEERCRED", errno: errno)
        }
        uid = peer.uid
        gid = peer.gid
        pid = peer.pid
        var handle = clinux_peer_pidfd(socket)
        if handle < 0 { handle = clinux_pidfd_open(peer.pid) }
        defer { if handle >= 0 { close(handle) } }
        guard handle >= 0, let process = PeerProcess(peer.pid), let start = process.startTime() else {
            processStart = 0
            program = nil
            return
        }
        let found = process.program()
        guard clinux_pidfd_signal(handle, 0) == 0 else {
            processStart = 0
            program = nil
            return
        }
        processStart = start
        program = found.map { Program(process: process, path: $0.path, file: $0.file) }
    }
}
