public import CBOR
import Glibc
public import SecretMemory

/// A message on the socket: its length in four bytes, big-endian, then one CBOR message.
public enum Frame {
    /// The length of the header, in bytes.
    public static let headerOctetCount = 4
    /// The longest message, in bytes.
    public static let longest = 1 << 20
    /// The CBOR limits of a message.
    public static let limits = CBORLimits(depth: 16)
    /// The CBOR limits of a body, which is nested in the message's array.
    public static let bodyLimits = CBORLimits(depth: 15)

    /// Sends a message, waiting while the peer does not read.
    ///
    /// Never raises SIGPIPE.
    /// - Parameters:
    ///   - message: one CBOR message.
    ///   - socket: a connected stream socket.
    ///   - waits: whether the system call itself waits while the socket is full.
    ///   - waitForRoom: called if it did not wait, or not long enough; returns to retry, or throws to give up.
    /// - Throws: ``WireError`` `frameLength` or `system`, and what `waitForRoom` throws.
    public static func send(
        _ message: borrowing SecretBuffer,
        to socket: CInt,
        waits: Bool = true,
        waitForRoom: () throws(WireError) -> Void = {}
    ) throws(WireError) {
        let total = headerOctetCount + message.count
        var sent = 0
        while sent < total {
            if let step = try sendPart(of: message, from: sent, to: socket, waits) {
                sent += step
            } else {
                try waitForRoom()
            }
        }
    }

    /// - Returns: the number of bytes sent; nil if there is no room.
    private static func sendPart(
        of message: borrowing SecretBuffer,
        from sent: Int,
        to socket: CInt,
        _ waits: Bool
    ) throws(WireError) -> Int? {
        let length = UInt32(message.count)
        guard length > 0, message.count <= longest else { throw .frameLength(length) }
        var header = (
            UInt8(truncatingIfNeeded: length >> 24), UInt8(truncatingIfNeeded: length >> 16),
            UInt8(truncatingIfNeeded: length >> 8), UInt8(truncatingIfNeeded: length)
        )
        while true {
            let step = unsafe message.withUnsafeBytes { body in
                unsafe withUnsafeMutableBytes(of: &header) { head in
                    unsafe sendPart(head, body, from: sent, to: socket, waits)
                }
            }
            if step >= 0 { return step }
            if errno == EAGAIN { return nil }
            if errno != EINTR { throw .system(errno: errno) }
        }
    }

    private static func sendPart(
        _ head: UnsafeMutableRawBufferPointer,
        _ body: UnsafeRawBufferPointer,
        from sent: Int,
        to socket: CInt,
        _ waits: Bool
    ) -> Int {
        let flags = CInt(MSG_NOSIGNAL) | (waits ? 0 : CInt(MSG_DONTWAIT))
        let headLeft = max(0, headerOctetCount - sent)
        let bodySent = max(0, sent - headerOctetCount)
        var parts = unsafe (
            iovec(
                iov_base: head.baseAddress.map { unsafe $0 + (headerOctetCount - headLeft) },
                iov_len: headLeft
            ),
            iovec(
                iov_base: UnsafeMutableRawPointer(mutating: body.baseAddress.map { unsafe $0 + bodySent }),
                iov_len: body.count - bodySent
            )
        )
        return unsafe withUnsafeMutablePointer(to: &parts) { pair in
            unsafe pair.withMemoryRebound(to: iovec.self, capacity: 2) { vectors in
                var message = unsafe msghdr()
                unsafe message.msg_iov = vectors
                unsafe message.msg_iovlen = 2
                return unsafe sendmsg(socket, &message, flags)
            }
        }
    }
}

/// One completely received message, in locked memory that is wiped.
public struct ReceivedMessage: ~Copyable, Sendable {
    /// The header, then the message.
    @usableFromInline
    internal let frame: SecretBuffer

    fileprivate init(frame: consuming SecretBuffer) { self.frame = frame }

    /// The bytes of the message.
    public var count: Int { frame.count - Frame.headerOctetCount }

    /// Lends a strict reader over the message for the length of `body`.
    ///
    /// - Throws: ``WireError/malformed`` for anything but one deterministic CBOR message, and what `body` throws.
    @inlinable
    public borrowing func read<R: ~Copyable>(_ body: (inout CBORReader) throws -> R) throws -> R {
        try frame.withOctets { octets in
            try CBORReader.read(octets.extracting(Frame.headerOctetCount...), limits: Frame.limits, body)
        }
    }

    /// ``read(_:)`` for the last part only: the body of a message whose head was read up to `start`.
    @inlinable
    public borrowing func readBody<R: ~Copyable>(
        from start: Int,
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        try frame.withOctets { octets in
            let rest = octets.extracting((Frame.headerOctetCount + start)...)
            return try CBORReader.read(rest, limits: Frame.bodyLimits, body)
        }
    }

    /// ``read(_:)`` for the beginning only: `body` need not read everything, and the rest is not checked.
    @inlinable
    public borrowing func readBeginning<R: ~Copyable>(
        _ body: (inout CBORReader) throws -> R
    ) throws -> R {
        try frame.withOctets { octets in
            try CBORReader.readBeginning(
                of: octets.extracting(Frame.headerOctetCount...),
                limits: Frame.limits,
                body
            )
        }
    }

    /// Lends the bytes of the message, undecoded.
    @inlinable
    public borrowing func withOctets<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try frame.withOctets { octets throws(E) in try body(octets.extracting(Frame.headerOctetCount...)) }
    }
}

/// Collects bytes from a socket and returns them frame by frame.
///
/// Receives without a control buffer, so that the kernel discards descriptors sent by a peer.
public struct FrameReceiver: ~Copyable {
    /// The result of a read.
    public enum Progress: Sendable, Equatable {
        /// Bytes arrived.
        case received
        /// No bytes are available now.
        case wouldBlock
        /// The peer closed its end.
        case closed
    }

    /// How much is read at once while no longer frame is announced.
    private static let readAhead = 1024
    /// The first buffer of a longer frame, in bytes; from then on, the buffer is at most twice of what has arrived.
    public static let promptRoom = 1 << 16

    private let firstRoom: Int
    private var pending: SecretBuffer

    /// Creates an empty receiver.
    ///
    /// - Parameter firstRoom: the most bytes that the buffer may have before as many have arrived.
    public init(firstRoom: Int = Self.promptRoom) {
        self.firstRoom = firstRoom
        pending = SecretBuffer()
    }

    /// The bytes of the buffer that the next read needs.
    ///
    /// - Throws: ``WireError/frameLength(_:)`` for an invalid length.
    package func nextCapacity() throws(WireError) -> Int { pending.count + (try room()) }

    /// Whether the arriving frame is complete.
    ///
    /// - Throws: ``WireError/frameLength(_:)`` for an invalid length.
    package func holdsFrame() throws(WireError) -> Bool {
        guard let length = try announcedLength() else { return false }
        return pending.count >= Frame.headerOctetCount + length
    }

    /// Reserves room for a short frame, so that the next reply can be received even if no memory can be locked then.
    ///
    /// - Throws: ``WireError`` `noLockedMemory`.
    public mutating func prepare() throws(WireError) {
        guard pending.capacity < Self.readAhead else { return }
        do throws(SecretMemoryError) {
            try pending.reserveLocked(Self.readAhead)
        } catch {
            throw .noLockedMemory(errno: error.errno)
        }
    }

    /// Whether part of a frame has been received.
    public var holdsPart: Bool { pending.count > 0 }

    /// The length of the frame that is arriving, once its header has been received.
    ///
    /// - Throws: ``WireError/frameLength(_:)`` for 0 and for more than ``Frame/longest``, before any buffer is
    ///   allocated.
    public func announcedLength() throws(WireError) -> Int? {
        guard pending.count >= Frame.headerOctetCount else { return nil }
        let length = unsafe pending.withUnsafeBytes { octets in
            unsafe UInt32(octets[0]) << 24 | UInt32(octets[1]) << 16 | UInt32(octets[2]) << 8
                | UInt32(octets[3])
        }
        guard length > 0, length <= Frame.longest else { throw .frameLength(length) }
        return Int(length)
    }

    /// Reads once from the socket.
    ///
    /// - Parameters:
    ///   - socket: a connected stream socket.
    ///   - waits: whether to wait until bytes are available.
    /// - Returns: the result of the read.
    /// - Throws: ``WireError`` `frameLength`, `system`, or `noLockedMemory`: nothing was read, and the call may be
    ///   repeated.
    public mutating func receive(from socket: CInt, waits: Bool = true) throws(WireError) -> Progress {
        let flags = waits ? 0 : CInt(MSG_DONTWAIT)
        return unsafe try receive { room in unsafe recv(socket, room.baseAddress, room.count, flags) }
    }

    /// Reads once with `read`, which returns a result and sets `errno` as recv(2) does.
    public mutating func receive(
        _ read: (UnsafeMutableRawBufferPointer) -> Int
    ) throws(WireError) -> Progress {
        let wanted = try room()
        do throws(SecretMemoryError) {
            try pending.reserveLocked(pending.count + wanted)
        } catch {
            throw .noLockedMemory(errno: error.errno)
        }
        while true {
            var result = 0
            var failure: CInt = 0
            _ = unsafe pending.append(upTo: wanted) { room in
                result = unsafe read(room)
                failure = errno
                return max(0, result)
            }
            if result > 0 { return .received }
            if result == 0 { return .closed }
            if failure == EAGAIN { return .wouldBlock }
            if failure != EINTR { throw .system(errno: failure) }
        }
    }

    /// Removes and returns the next complete frame, if it has arrived.
    ///
    /// - Throws: ``WireError`` `frameLength`, or `noLockedMemory`: nothing was removed, and the call may be repeated.
    public mutating func next() throws(WireError) -> ReceivedMessage? {
        guard let length = try announcedLength() else { return nil }
        let end = Frame.headerOctetCount + length
        guard pending.count >= end else { return nil }
        if pending.count == end {
            // Without a buffer the next read allocates one.
            var frame = (try? Self.buffer(Self.readAhead)) ?? SecretBuffer()
            swap(&pending, &frame)
            return ReceivedMessage(frame: frame)
        }
        var rest = try Self.buffer(max(Self.readAhead, pending.count - end))
        var frame = try Self.buffer(end)
        unsafe pending.withUnsafeBytes { octets in
            unsafe frame.append(contentsOf: UnsafeRawBufferPointer(rebasing: octets[..<end]))
            unsafe rest.append(contentsOf: UnsafeRawBufferPointer(rebasing: octets[end...]))
        }
        swap(&pending, &rest)
        return ReceivedMessage(frame: frame)
    }

    private static func buffer(_ capacity: Int) throws(WireError) -> SecretBuffer {
        do throws(SecretMemoryError) {
            return try SecretBuffer(lockedCapacity: capacity)
        } catch {
            throw .noLockedMemory(errno: error.errno)
        }
    }

    private func room() throws(WireError) -> Int {
        guard let length = try announcedLength() else { return Self.readAhead }
        let missing = Frame.headerOctetCount + length - pending.count
        return min(max(missing, Self.readAhead), max(firstRoom - pending.count, pending.count))
    }
}
