public import CBOR
import Glibc
public import SecretMemory

/// A message on the socket: four bytes of length, most significant first, then one CBOR message.
public enum Frame {
    /// The bytes before the message.
    public static let headerOctetCount = 4
    /// The longest message, in bytes.
    public static let longest = 1 << 20
    /// What a message may hold.
    public static let limits = CBORLimits(depth: 16)
    /// What a body may hold, which stands in an array.
    public static let bodyLimits = CBORLimits(depth: 15)

    /// Sends a message, waiting while the peer does not read.
    ///
    /// Never raises SIGPIPE.
    /// - Parameters:
    ///   - message: one CBOR message.
    ///   - socket: a connected stream socket.
    ///   - waits: whether the call itself waits while the socket is full.
    ///   - waitForRoom: called when it did not, or not long enough; returns once it may be tried again, or throws to
    ///     give up.
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

    /// Sends a message if the socket has room for it now.
    ///
    /// A socket takes a short message whole or not at all; of one that it takes in part it waits for the rest.
    /// - Returns: false where there is no room, and nothing was sent.
    /// - Throws: as ``send(_:to:waits:waitForRoom:)``, with `EAGAIN` where the rest had no room for long.
    public static func sendAtOnce(
        _ message: borrowing SecretBuffer,
        to socket: CInt
    ) throws(WireError) -> Bool {
        guard var sent = try sendPart(of: message, from: 0, to: socket, false) else { return false }
        while sent < headerOctetCount + message.count {
            guard let step = try sendPart(of: message, from: sent, to: socket, true) else {
                throw .system(errno: EAGAIN)
            }
            sent += step
        }
        return true
    }

    /// - Returns: how much was sent; nil where there is no room.
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

/// One message that has arrived whole, in memory that is locked and wiped.
public struct ReceivedMessage: ~Copyable, Sendable {
    /// The header, then the message.
    @usableFromInline
    internal let frame: SecretBuffer

    fileprivate init(frame: consuming SecretBuffer) { self.frame = frame }

    /// The bytes of the message.
    public var count: Int { frame.count - Frame.headerOctetCount }

    /// Lends a strict reader over the message for the length of `body`.
    ///
    /// - Throws: ``WireError/malformed`` for anything that is not one deterministic CBOR message, and what
    ///   `body` throws.
    @inlinable
    public borrowing func read<R: ~Copyable>(_ body: (inout CBORReader) throws -> R) throws -> R {
        try frame.withOctets { octets in
            try CBORReader.read(octets.extracting(Frame.headerOctetCount...), limits: Frame.limits, body)
        }
    }

    /// ``read(_:)`` for the last part alone: the body of a message whose head was read up to `start`.
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

    /// ``read(_:)`` for the beginning alone: `body` need not read all, and what it leaves is not checked.
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

    /// Lends the bytes of the message, unread.
    @inlinable
    public borrowing func withOctets<R: ~Copyable, E: Error>(
        _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        try frame.withOctets { octets throws(E) in try body(octets.extracting(Frame.headerOctetCount...)) }
    }
}

/// Collects what arrives on a socket and gives it out frame by frame.
///
/// Receives without a control buffer, so that descriptors a peer passes are discarded by the kernel.
public struct FrameReceiver: ~Copyable {
    /// What a read came to.
    public enum Progress: Sendable, Equatable {
        /// Something arrived.
        case received
        /// Nothing is there now.
        case wouldBlock
        /// The peer closed its end.
        case closed
    }

    /// How much is read at once when no longer frame is known to come.
    private static let readAhead = 1024
    /// A frame longer than this has its whole room made only once this much of it has arrived.
    public static let promptRoom = 1 << 16

    private var pending: SecretBuffer

    /// Starts with nothing received.
    public init() { pending = SecretBuffer() }

    /// Makes room for a short frame, so that the reply to what is sent next arrives even if no memory can be locked then.
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

    /// Whether part of a frame is there.
    public var holdsPart: Bool { pending.count > 0 }

    /// The length of the frame that is arriving, once its header is there.
    ///
    /// - Throws: ``WireError/frameLength(_:)`` for 0 and for more than ``Frame/longest``, before any room is made.
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
    ///   - waits: whether to wait until something is there.
    /// - Returns: what came of it.
    /// - Throws: ``WireError`` `frameLength`, `system`, or `noLockedMemory`: nothing was read, and the same call may be made
    ///   again.
    public mutating func receive(from socket: CInt, waits: Bool = true) throws(WireError) -> Progress {
        let flags = waits ? 0 : CInt(MSG_DONTWAIT)
        return unsafe try receive { room in unsafe recv(socket, room.baseAddress, room.count, flags) }
    }

    /// Reads once by `read`, which answers and leaves `errno` as recv(2) does.
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

    /// Takes the next whole frame, if it has arrived.
    ///
    /// - Throws: ``WireError`` `frameLength`, or `noLockedMemory`: nothing was taken, and the same call may be made again.
    public mutating func next() throws(WireError) -> ReceivedMessage? {
        guard let length = try announcedLength() else { return nil }
        let end = Frame.headerOctetCount + length
        guard pending.count >= end else { return nil }
        if pending.count == end {
            // Without one the next read asks again.
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
        return pending.count < Self.promptRoom ? min(max(missing, Self.readAhead), Self.promptRoom) : missing
    }
}
