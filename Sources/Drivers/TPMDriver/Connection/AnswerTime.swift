import CTSS2
import Glibc
import SecretMemory

/// A time limit for the chip's responses: the library's own calls wait for ever.
enum AnswerTime {
    /// Longer than any of our commands takes on a slow chip (an ECC primary: about 1 s), in milliseconds.
    static let limit: CInt = 10_000

    /// The original functions of a transport.
    @safe
    private struct Transport {
        let transmit: TSS2_TCTI_TRANSMIT_FCN
        let receive: TSS2_TCTI_RECEIVE_FCN
        /// The simulator's socket; nil for real chips.
        let simulator: String?
        /// A command was sent, and its response has not been requested yet.
        var isAwaited = false
        /// The descriptor at which the simulator's socket was last found.
        var socket: CInt = 0
    }

    /// The transports by the addresses of their contexts.
    private static let transports = Guarded<[UInt: Transport]>([:])

    /// Makes a transport fail with ``ResponseCode/silence`` if no response begins in time, until ``forget(_:)``.
    ///
    /// A transport without a descriptor to poll, such as the kernel's device in some builds of the library, stays
    /// unchanged: the kernel's driver has its own timeout. A simulator's has none either, and its socket gets the
    /// limit.
    ///
    /// The library requests a response twice, first for its length. Only the first request waits: afterwards there
    /// may be nothing left to read.
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

    /// Removes a transport that is no longer used.
    static func forget(_ transport: OpaquePointer?) {
        transports.withLock { $0[UInt(bitPattern: transport)] = nil }
    }

    /// Records that a command is sent and its response awaited.
    private static func beginCommand(on context: OpaquePointer?) -> Transport? {
        transports.withLock {
            $0[UInt(bitPattern: context)]?.isAwaited = true
            return $0[UInt(bitPattern: context)]
        }
    }

    /// Records that the response is requested, and returns the transport as it was before.
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
            // The transport itself reports a closed connection.
            if ready != 0, ready > 0 || errno != EINTR { return true }
            if ready == 0 { return false }
        }
    }
}

// MARK: - Simulators

extension AnswerTime {
    private static let simulatorPrefix = "swtpm:path="

    /// Sets `SO_RCVTIMEO` (socket(7)) on this process's socket to that address, unless it is set already.
    ///
    /// The library does not reveal its descriptor, and connects anew for each command. The last known descriptor is
    /// tried first: checking 1,024 descriptors takes 0.1 ms.
    ///
    /// - Returns: the socket; nil if there is none.
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
