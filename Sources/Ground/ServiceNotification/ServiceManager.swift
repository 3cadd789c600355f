import Glibc

/// Reports a program's state to the service manager (sd_notify(3)): one datagram of text for each report.
///
/// A report that cannot be delivered is dropped: a manager that is away has no use for it.
public struct ServiceManager: Sendable {
    private let socketPath: String?

    /// - Parameter socketPath: `NOTIFY_SOCKET`, a path or, with a leading `@`, an abstract address; nil without a service
    ///   manager.
    public init(socketPath: String?) { self.socketPath = socketPath }

    /// Reports that the program serves.
    ///
    /// - Parameter status: what the manager shows of it, in one line.
    public func ready(status: String) { send("READY=1\nSTATUS=\(status)") }

    /// Reports that the program reads its configuration again; ``ready(status:)`` ends this.
    public func reloading() {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        send("RELOADING=1\nMONOTONIC_USEC=\(Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)")
    }

    /// Reports that the program exits.
    public func stopping() { send("STOPPING=1") }

    private func send(_ text: String) {
        guard let socketPath, socketPath.hasPrefix("/") || socketPath.hasPrefix("@") else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var octets = Array(socketPath.utf8)
        guard octets.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // unix(7): an abstract address starts with NUL, and is not terminated by one.
        if octets.first == UInt8(ascii: "@") { octets[0] = 0 }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: octets) }
        let length = MemoryLayout<sa_family_t>.size + octets.count + (octets.first == 0 ? 0 : 1)
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        let message = Array(text.utf8)
        _ = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe sendto(
                    descriptor,
                    message,
                    message.count,
                    CInt(MSG_NOSIGNAL),
                    pointer,
                    socklen_t(length)
                )
            }
        }
    }
}
