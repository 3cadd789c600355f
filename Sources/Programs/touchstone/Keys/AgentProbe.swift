import Glibc
import KeychainModel
import SSHFormat

/// Asks the keychain's ssh-agent for its list, as ssh does; the agent then also knows it for the time before the next unlock.
enum AgentProbe {
    /// How long the agent may take, in seconds.
    private static let patience = 5

    /// Whether the agent at a path offers a key.
    static func offers(_ key: SSHPublicKey, at path: String) -> Bool {
        let socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return false }
        defer { close(socket) }
        var time = timeval(tv_sec: patience, tv_usec: 0)
        let length = socklen_t(MemoryLayout<timeval>.size)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, length)
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, length)
        guard connect(socket, to: path) else { return false }
        // SSH_AGENTC_REQUEST_IDENTITIES
        let request: [UInt8] = [0, 0, 0, 1, 11]
        guard unsafe send(socket, request, request.count, CInt(MSG_NOSIGNAL)) == request.count,
            let head = receive(4, from: socket)
        else { return false }
        let count = head.reduce(0) { $0 << 8 | Int($1) }
        guard count <= AgentRequest.longest, let body = receive(count, from: socket) else { return false }
        return body.count >= key.blob.count
            && body.indices.contains { body[$0...].starts(with: key.blob) }
    }

    private static func connect(_ socket: CInt, to path: String) -> Bool {
        var address = sockaddr_un()
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    private static func receive(_ count: Int, from socket: CInt) -> [UInt8]? {
        var octets = [UInt8](repeating: 0, count: count)
        let got = unsafe recv(socket, &octets, count, CInt(MSG_WAITALL))
        return got == count ? octets : nil
    }
}
