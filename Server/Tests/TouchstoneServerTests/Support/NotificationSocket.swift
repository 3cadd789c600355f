import Dispatch
import Foundation
import Glibc

/// The socket of a service manager: `NOTIFY_SOCKET`.
final class NotificationSocket: Sendable {
    /// What the variable has: a path, or `@` and an abstract name.
    let address: String
    private let descriptor: CInt

    struct Failure: Error { let what: String }

    init(_ address: String) throws {
        self.address = address
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(address.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let result = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw Failure(what: String(cString: strerror(errno))) }
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    /// The lines of the next report, once it comes.
    func next() async throws -> [String] {
        let descriptor = descriptor
        let received: [UInt8]? = await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: Self.receive(descriptor, 0)) }
        }
        guard let received else { throw Failure(what: "nothing came in two minutes") }
        return String(decoding: received, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Whether no report is there.
    var isEmpty: Bool { Self.receive(descriptor, CInt(MSG_DONTWAIT)) == nil }

    private static func receive(_ descriptor: CInt, _ flags: CInt) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, flags)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// `CLOCK_MONOTONIC` in microseconds.
    static var now: Int { Int(DispatchTime.now().uptimeNanoseconds / 1000) }
}
