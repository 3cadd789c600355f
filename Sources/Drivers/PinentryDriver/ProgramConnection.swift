import CLinux
import Glibc
import KeychainModel

/// A connection of a prompt program to a local server.
struct ProgramConnection: Hashable {
    /// The address that the server bound: a path, or an abstract name after `@`; empty for none.
    let address: String
    /// The process that made the server's socket listen, as distinct from a later one of the same pid.
    let server: String

    /// The descriptor numbers of a process; more are not looked at.
    private static let mostDescriptors = 1024

    /// All connections of a program beyond those to this process and to itself.
    ///
    /// - Parameters:
    ///   - process: the program, a child of this process.
    ///   - pidfd: its pidfd.
    /// - Returns: nil if one of them cannot be identified, as to another machine, or to a server that has ended or is not
    ///   visible, and if the program cannot be examined.
    static func all(of process: Int32, pidfd: CInt) -> Set<ProgramConnection>? {
        guard pidfd >= 0, let directory = unsafe opendir("/proc/\(process)/fd") else { return nil }
        defer { unsafe closedir(directory) }
        var (found, count) = (Set<ProgramConnection>(), 0)
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            guard let number = CInt(name) else { continue }
            count += 1
            guard count <= mostDescriptors else { return nil }
            switch connection(number, of: process, pidfd: pidfd) {
            case .none: continue
            case .unidentified: return nil
            case .identified(let connection): found.insert(connection)
            }
        }
        return found
    }

    private enum Finding {
        /// No connection, or none to a server.
        case none
        case unidentified
        case identified(ProgramConnection)
    }

    private static func connection(_ number: CInt, of process: Int32, pidfd: CInt) -> Finding {
        let descriptor = clinux_pidfd_descriptor(pidfd, number)
        // Closed meanwhile.
        guard descriptor >= 0 else { return errno == EBADF ? .none : .unidentified }
        defer { close(descriptor) }
        var (address, length) = (sockaddr_un(), socklen_t(MemoryLayout<sockaddr_un>.size))
        let result = unsafe withUnsafeMutableBytes(of: &address) {
            unsafe getpeername(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0 else { return errno == ENOTSOCK || errno == ENOTCONN ? .none : .unidentified }
        switch CInt(address.sun_family) {
        case AF_UNIX: break
        // The kernel itself.
        case AF_NETLINK: return .none
        default: return .unidentified
        }
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(descriptor, &peer) == 0 else { return .unidentified }
        let name = text(of: address, length)
        // The program's input and output, and pairs that it made itself.
        if name.isEmpty, peer.pid == getpid() || peer.pid == process { return .none }
        guard let stat = ProcessStat(of: peer.pid) else { return .unidentified }
        return .identified(
            ProgramConnection(address: name, server: "\(peer.pid) of \(peer.uid) started \(stat.start)")
        )
    }

    private static func text(of address: sockaddr_un, _ length: socklen_t) -> String {
        let count = max(0, Int(length) - MemoryLayout<sa_family_t>.size)
        return unsafe withUnsafeBytes(of: address.sun_path) { path in
            let path = unsafe path.prefix(count)
            let isAbstract = unsafe path.first == 0
            let name = unsafe isAbstract ? path.dropFirst() : path.prefix { $0 != 0 }
            return unsafe (isAbstract ? "@" : "") + String(decoding: name, as: UTF8.self)
        }
    }
}
