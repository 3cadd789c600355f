import CTSS2
import Glibc
import SecretMemory

/// How long a chip is waited for: the library's own calls wait for ever.
enum AnswerTime {
    /// Longer than any command of ours takes on a slow chip (an ECC primary: about 1 s), in milliseconds.
    static let limit: CInt = 10_000

    /// The transport's own function; the same for all, the library's loader for transports.
    private static let receive = unsafe Guarded<TSS2_TCTI_RECEIVE_FCN?>(nil)

    /// Has a transport give up with ``ResponseCode/silence`` when no answer begins in time.
    ///
    /// A transport that tells no descriptor to wait for, as the kernel's device in some builds of the library, stays as it
    /// is: the kernel's driver gives up by itself. A simulator's tells none, and its socket gets the limit.
    static func limit(_ transport: OpaquePointer?, _ configuration: String) {
        guard let transport = unsafe transport else { return }
        if configuration.hasPrefix(simulator) {
            simulatorPath.withLock { $0 = String(configuration.dropFirst(simulator.count)) }
        }
        let common = unsafe UnsafeMutableRawPointer(transport)
            .assumingMemoryBound(to: TSS2_TCTI_CONTEXT_COMMON_V1.self)
        unsafe receive.withLock { unsafe $0 = common.pointee.receive }
        unsafe common.pointee.receive = { context, count, answer, time in
            guard unsafe AnswerTime.isAnswering(context) else { return ResponseCode.silence }
            guard let receive = unsafe AnswerTime.receive.withLock({ unsafe $0 }) else {
                return ResponseCode.silence
            }
            return unsafe receive(context, count, answer, time)
        }
    }

    private static let simulator = "swtpm:path="
    /// Where the simulator listens; nil for real chips.
    private static let simulatorPath = Guarded<String?>(nil)

    /// Sets `SO_RCVTIMEO` (socket(7)) on this process's socket to that address that has none yet: the library does not tell
    /// which it is, and connects anew for each command.
    ///
    /// Ends there: looking at 1,024 descriptors took 0.2 ms a command.
    private static func limitSockets(connectedTo path: String) {
        var time = timeval(tv_sec: Int(limit) / 1000, tv_usec: 0)
        for descriptor in 0..<CInt(1024) {
            var address = sockaddr_un()
            var length = socklen_t(MemoryLayout<sockaddr_un>.size)
            let result = unsafe withUnsafeMutableBytes(of: &address) {
                unsafe getpeername(
                    descriptor,
                    $0.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    &length
                )
            }
            guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { continue }
            let peer = unsafe withUnsafeBytes(of: address.sun_path) { octets in
                unsafe String(decoding: octets.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard peer == path, !hasLimit(descriptor) else { continue }
            _ = unsafe setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVTIMEO,
                &time,
                socklen_t(MemoryLayout<timeval>.size)
            )
            return
        }
    }

    private static func hasLimit(_ socket: CInt) -> Bool {
        var time = timeval()
        var length = socklen_t(MemoryLayout<timeval>.size)
        return unsafe getsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, &length) == 0 && time.tv_sec > 0
    }

    private static func isAnswering(_ context: OpaquePointer?) -> Bool {
        guard let context = unsafe context else { return false }
        let common = unsafe UnsafeMutableRawPointer(context)
            .assumingMemoryBound(to: TSS2_TCTI_CONTEXT_COMMON_V1.self)
        var place = pollfd()
        var count = 1
        guard let handles = unsafe common.pointee.getPollHandles,
            unsafe handles(context, &place, &count) == 0, count == 1
        else {
            // It connects anew for each command in some versions of the library.
            if let path = simulatorPath.withLock({ $0 }) { limitSockets(connectedTo: path) }
            return true
        }
        place.events = Int16(POLLIN)
        let end = ContinuousClock.now + .milliseconds(Int64(limit))
        while true {
            let left = (end - .now) / .milliseconds(1)
            let ready = unsafe poll(&place, 1, CInt(max(0, left)))
            // A connection that ended is the transport's to report.
            if ready != 0, ready > 0 || errno != EINTR { return true }
            if ready == 0 { return false }
        }
    }
}
