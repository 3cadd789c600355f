import Glibc
import KeychainModel
import SecretMemory

/// A pipe; both ends are closed when the value is destroyed.
struct Pipe: ~Copyable {
    private(set) var readEnd: CInt
    private(set) var writeEnd: CInt

    /// Creates a pipe that no program inherits: nothing else is started at the same time.
    init() throws(CommandError) {
        var ends: [CInt] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            throw CommandError("cannot make a pipe: \(SystemError.name(of: errno))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        if readEnd >= 0 { close(readEnd) }
        if writeEnd >= 0 { close(writeEnd) }
    }

    /// Closes the read end.
    mutating func closeReadEnd() {
        close(readEnd)
        readEnd = -1
    }

    /// Hands over the read end.
    mutating func takeReadEnd() -> CInt {
        defer { readEnd = -1 }
        return readEnd
    }

    /// Hands over the write end.
    mutating func takeWriteEnd() -> CInt {
        defer { writeEnd = -1 }
        return writeEnd
    }

    /// Closes the write end: the reader gets the end of file.
    mutating func closeWriteEnd() {
        close(writeEnd)
        writeEnd = -1
    }
}

/// Reads and writes of whole secrets.
enum Descriptor {
    /// Writes all bytes; false on failure, for example when there is no reader.
    static func write(_ secret: borrowing SecretBytes, to descriptor: CInt) -> Bool {
        secret.withOctets { octets in
            unsafe octets.withUnsafeBytes { unsafe write($0, to: descriptor) }
        }
    }

    /// Writes all bytes; false on failure.
    static func write(_ octets: UnsafeRawBufferPointer, to descriptor: CInt) -> Bool {
        var written = 0
        while written < octets.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: octets[written...])
            let count = unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count > 0 {
                written += count
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }

    /// Reads to the end, at most `limit` bytes; nil on failure, for more bytes, or after the deadline.
    ///
    /// - Throws: ``CommandError`` if memory cannot be locked.
    static func read(
        _ descriptor: CInt,
        upTo limit: Int,
        until deadline: ContinuousClock.Instant? = nil
    ) throws(CommandError) -> SecretBytes? {
        var buffer = try CommandMemory.buffer(4096)
        while buffer.count <= limit {
            if let deadline, !isReadable(descriptor, until: deadline) { return nil }
            var result = 0
            let room = max(4096, buffer.capacity - buffer.count)
            try CommandMemory.reserve(buffer.count + room, in: &buffer)
            _ = unsafe buffer.append(upTo: room) { room in
                result = unsafe Glibc.read(descriptor, room.baseAddress, room.count)
                return max(0, result)
            }
            if result == 0 { return buffer.count > limit ? nil : buffer.finish() }
            if result < 0 && errno != EINTR { return nil }
        }
        return nil
    }

    /// Waits until the descriptor is readable; false if it is not by the deadline.
    static func isReadable(_ descriptor: CInt, until deadline: ContinuousClock.Instant) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let left = ContinuousClock.now.duration(to: deadline) / Duration.milliseconds(1)
            let result = unsafe poll(&entry, 1, CInt(max(0, left.rounded(.up))))
            if result >= 0 || errno != EINTR { return result > 0 }
        }
    }
}
