import CTSS2
import Glibc
import SecretMemory

/// How long a chip is waited for: the library's own calls wait for ever.
enum AnswerTime {
    /// Longer than any command of ours takes on a slow chip (an ECC primary: about 1 s), in milliseconds.
    static let limit: CInt = 10_000

    /// A transport whose functions were replaced.
    @safe
    private struct Transport {
        let transmit: TSS2_TCTI_TRANSMIT_FCN
        let receive: TSS2_TCTI_RECEIVE_FCN
        /// Where the simulator listens; nil for real chips.
        let simulator: String?
        /// A command was sent, and nothing of its answer was asked for yet.
        var isAwaited = false
        /// Where the simulator's socket was found last.
        var socket: CInt = 0
    }

    /// By the addresses of their contexts.
    private static let transports = Guarded<[UInt: Transport]>([:])

    /// Has a transport give up with ``ResponseCode/silence`` when no answer begins in time, until ``forget(_:)``.
    ///
    /// A transport that tells no descriptor to wait for, as the kernel's device in some builds of the library, stays as it
    /// is: the kernel's driver gives up by itself. A simulator's tells none, and its socket gets the limit.
    ///
    /// The library asks for an answer twice, first for its length. Only the first time is waited: afterwards there may be
    /// nothing left to read.
    static func limit(_ transport: OpaquePointer?, _ configuration: String) {
        guard let transport = unsafe transport else { return }
        let common = unsafe UnsafeMutableRawPointer(transport)
            .assumingMemoryBound(to: TSS2_TCTI_CONTEXT_COMMON_V1.self)
        guard let transmit = unsafe common.pointee.transmit, let receive = unsafe common.pointee.receive
        else {
            return
        }
        let simulator =
            configuration.hasPrefix(simulatorPrefix)
            ? String(configuration.dropFirst(simulatorPrefix.count)) : nil
        let original = unsafe Transport(transmit: transmit, receive: receive, simulator: simulator)
        transports.withLock { $0[UInt(bitPattern: transport)] = original }
        unsafe common.pointee.transmit = { context, count, command in
            guard let transport = unsafe AnswerTime.beginCommand(on: context) else {
                return ResponseCode.silence
            }
            return unsafe transport.transmit(context, count, command)
        }
        unsafe common.pointee.receive = { context, count, answer, time in
            guard let transport = unsafe AnswerTime.beginAnswer(on: context),
                unsafe !transport.isAwaited || AnswerTime.isAnswering(context, transport)
            else { return ResponseCode.silence }
            return unsafe transport.receive(context, count, answer, time)
        }
    }

    /// Forgets a transport, which is used no more.
    static func forget(_ transport: OpaquePointer?) {
        transports.withLock { $0[UInt(bitPattern: transport)] = nil }
    }

    /// A command is sent: its answer is waited for.
    private static func beginCommand(on context: OpaquePointer?) -> Transport? {
        transports.withLock {
            $0[UInt(bitPattern: context)]?.isAwaited = true
            return $0[UInt(bitPattern: context)]
        }
    }

    /// An answer is asked for: the transport as it was before, which from now on awaits none.
    private static func beginAnswer(on context: OpaquePointer?) -> Transport? {
        transports.withLock {
            let transport = $0[UInt(bitPattern: context)]
            $0[UInt(bitPattern: context)]?.isAwaited = false
            return transport
        }
    }

    private static func isAnswering(_ context: OpaquePointer?, _ transport: Transport) -> Bool {
        guard let context = unsafe context else { return false }
        let common = unsafe UnsafeMutableRawPointer(context)
            .assumingMemoryBound(to: TSS2_TCTI_CONTEXT_COMMON_V1.self)
        var place = pollfd()
        var count = 1
        guard let handles = unsafe common.pointee.getPollHandles,
            unsafe handles(context, &place, &count) == 0, count == 1
        else {
            if let path = transport.simulator,
                let socket = limitSocket(connectedTo: path, expected: transport.socket)
            {
                transports.withLock { $0[UInt(bitPattern: context)]?.socket = socket }
            }
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

// MARK: - Simulators

extension AnswerTime {
    private static let simulatorPrefix = "swtpm:path="

    /// Sets `SO_RCVTIMEO` (socket(7)) on this process's socket to that address that has none yet: the library does not tell
    /// which it is, and connects anew for each command.
    ///
    /// Looks first where it was the last time: looking at 1,024 descriptors takes 0.1 ms.
    ///
    /// - Returns: the socket; nil when there is none.
    private static func limitSocket(connectedTo path: String, expected: CInt) -> CInt? {
        if limitSocket(expected, ifConnectedTo: path) { return expected }
        return (0..<1024).first { limitSocket($0, ifConnectedTo: path) }
    }

    private static func limitSocket(_ descriptor: CInt, ifConnectedTo path: String) -> Bool {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let result = unsafe withUnsafeMutableBytes(of: &address) {
            unsafe getpeername(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &length)
        }
        guard result == 0, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        let isPeer = unsafe withUnsafeBytes(of: address.sun_path) { octets in
            unsafe octets.prefix { $0 != 0 }.elementsEqual(path.utf8)
        }
        guard isPeer, !hasLimit(descriptor) else { return false }
        var time = timeval(tv_sec: Int(limit) / 1000, tv_usec: 0)
        let size = socklen_t(MemoryLayout<timeval>.size)
        return unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size) == 0
    }

    private static func hasLimit(_ socket: CInt) -> Bool {
        var time = timeval()
        var length = socklen_t(MemoryLayout<timeval>.size)
        return unsafe getsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, &length) == 0 && time.tv_sec > 0
    }
}
