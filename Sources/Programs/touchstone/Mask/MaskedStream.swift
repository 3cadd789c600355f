import Glibc
import KeychainModel
import SecretMemory

/// One output stream of a command, forwarded with secrets masked.
final class MaskedStream {
    /// The descriptor to read from; -1 once the stream has ended.
    private(set) var source: CInt
    private let target: CInt
    private var filter: MaskingFilter
    /// The most that is forwarded at once, in bytes.
    private static let largestPiece = 1 << 16
    private var room: SecretBuffer
    private var isBroken = false

    init(_ source: CInt, to target: CInt, _ patterns: [MaskedPattern]) throws(CommandError) {
        self.source = source
        self.target = target
        filter = try MaskingFilter(patterns, largestPiece: Self.largestPiece)
        room = try CommandMemory.buffer(Self.largestPiece)
    }

    /// Whether end of file was read.
    var isClosed: Bool { source < 0 }

    /// Whether there is something to read now.
    var isReady: Bool { Descriptor.isReadable(source, until: .now) }

    /// Forwards the available output, at most 64 KiB.
    func pass() {
        room.removeAll(keepingCapacity: true)
        var result = 0
        _ = unsafe room.append(upTo: Self.largestPiece) { room in
            result = unsafe read(source, room.baseAddress, room.count)
            return max(0, result)
        }
        if result < 0, errno == EINTR || errno == EAGAIN { return }
        // Reading a terminal whose programs have all exited fails.
        if result <= 0 { return end() }
        unsafe room.withUnsafeBytes { unsafe write($0, isEnd: false) }
    }

    /// Closes the source and writes the bytes held back.
    func end() {
        guard source >= 0 else { return }
        close(source)
        source = -1
        unsafe write(UnsafeRawBufferPointer(start: nil, count: 0), isEnd: true)
    }

    private func write(_ octets: UnsafeRawBufferPointer, isEnd: Bool) {
        unsafe filter.filter(octets, isEnd: isEnd) { octets in
            guard !isBroken else { return }
            if unsafe !Descriptor.write(octets, to: target) { isBroken = true }
        }
        // The reader of our output has exited: closing the source tells the command so, through its own pipe.
        if isBroken, source >= 0 {
            close(source)
            source = -1
        }
    }
}
