import CLinux
import Glibc

/// The process at the other end of a socket, as the kernel recorded it when it connected.
struct PeerCredentials {
    let uid: UInt32
    let pid: Int32
    /// When the process started, in clock ticks since boot; 0 when it cannot be told.
    let processStart: UInt64
    /// The path of its program; nil when it cannot be told for sure.
    let program: String?

    /// Asks the kernel about the peer of `socket`.
    ///
    /// The number of a process may be used again: the path counts only if the very process that connected
    /// still runs after it was read, and started at the same time before and after.
    init(of socket: CInt) throws(ServerError) {
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(socket, &peer) == 0 else {
            throw ServerError(call: "getsockopt SO_PEERCRED", errno: errno)
        }
        uid = peer.uid
        pid = peer.pid
        var handle = clinux_peer_pidfd(socket)
        if handle < 0 { handle = clinux_pidfd_open(peer.pid) }
        defer { if handle >= 0 { close(handle) } }

        let start = Self.startTime(of: peer.pid)
        let path = ProgramPath.ofProcess(String(peer.pid))
        let isSame =
            handle >= 0 && clinux_pidfd_signal(handle, 0) == 0 && Self.startTime(of: peer.pid) == start
        processStart = isSame ? start ?? 0 : 0
        program = isSame && start != nil ? path : nil
    }

    /// Field 22 of `/proc/PID/stat`; the name in field 2 may hold anything, so fields count from its end.
    private static func startTime(of pid: Int32) -> UInt64? {
        let descriptor = unsafe open("/proc/\(pid)/stat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 1024)
        let count = unsafe read(descriptor, &octets, octets.count)
        guard count > 0, let nameEnd = octets[..<count].lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = octets[(nameEnd + 1)..<count].split(separator: UInt8(ascii: " "))
        guard fields.count > 19 else { return nil }
        return UInt64(String(decoding: fields[19], as: UTF8.self))
    }
}

/// Paths of running programs.
enum ProgramPath {
    private static let deletedMark = " (deleted)"

    /// What `/proc/PROCESS/exe` points to, also after the file was replaced by an upgrade.
    static func ofProcess(_ process: String) -> String? {
        var octets = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe octets.withUnsafeMutableBytes { buffer in
            unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
                guard let start = buffer.baseAddress else { return -1 }
                return unsafe readlink("/proc/\(process)/exe", start, buffer.count)
            }
        }
        // Cut off at the end of the buffer, it would name another program.
        guard count > 0, count < octets.count else { return nil }
        guard let path = String(validating: octets[..<count], as: UTF8.self), path.hasPrefix("/") else {
            return nil
        }
        guard path.hasSuffix(deletedMark), unsafe access(path, F_OK) != 0 else { return path }
        return String(path.dropLast(deletedMark.count))
    }

    /// The directory part of an absolute path.
    static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return path }
        return String(path[..<slash])
    }
}
