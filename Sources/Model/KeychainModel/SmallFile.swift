import Glibc

/// Why something about a file of the system could not be determined: neither the fact nor its absence is known.
package struct UnreadableFile: Error, Equatable, CustomStringConvertible {
    /// What prevented it.
    package enum Reason: Sendable, Equatable {
        /// A system call failed, with this `errno`.
        case system(CInt)
        /// The file or one of its lines has more bytes than this.
        case tooLong(Int)
        /// The content is not in the expected form.
        case malformed
    }

    /// The file.
    package let path: String
    package let reason: Reason

    package init(_ path: String, _ reason: Reason) { (self.path, self.reason) = (path, reason) }

    /// The last system call failed.
    package static func system(_ path: String, _ number: CInt = errno) -> UnreadableFile {
        UnreadableFile(path, .system(number))
    }

    /// The `errno` of a failed system call; nil for another reason.
    package var number: CInt? {
        guard case .system(let number) = reason else { return nil }
        return number
    }

    /// Whether there is no such file: in `/proc/PID`, the process has ended.
    package var isMissing: Bool { number == ENOENT || number == ESRCH }

    /// One clause.
    package var description: String {
        switch reason {
        case .system(let number): "\(path): \(SystemError.name(of: number))"
        case .tooLong(let limit): "\(path): longer than \(limit) bytes"
        case .malformed: "\(path): unexpected content"
        }
    }
}

/// Reads files of the system: settings, lists of users, proc(5) files.
///
/// All readers of `/proc` use this: what cannot be read and what is longer than its limit is an error, so that no caller
/// takes it for an empty file or for the absence of what it seeks.
package enum SmallFile {
    /// The longest line of a file that is read line by line; a mount's can have four texts of 4 KiB, with each byte as four.
    private static let longestLine = 1 << 18

    /// The whole file, which may have at most `limit` bytes; a relative path starts at `directory`.
    package static func bytes(
        _ path: String,
        in directory: CInt = AT_FDCWD,
        atMost limit: Int
    ) throws(UnreadableFile) -> [UInt8] {
        let file = try open(path, in: directory)
        defer { close(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = SystemCall.uninterrupted { unsafe read(file, &part, part.count) }
            guard count >= 0 else { throw .system(path) }
            if count == 0 { return bytes }
            bytes += part[..<count]
            guard bytes.count <= limit else { throw UnreadableFile(path, .tooLong(limit)) }
        }
    }

    /// ``bytes(_:in:atMost:)`` as text, which is UTF-8.
    package static func text(
        _ path: String,
        in directory: CInt = AT_FDCWD,
        atMost limit: Int
    ) throws(UnreadableFile) -> String {
        guard let text = String(validating: try bytes(path, in: directory, atMost: limit), as: UTF8.self)
        else {
            throw UnreadableFile(path, .malformed)
        }
        return text
    }

    /// The value of the first line `NAME:\tVALUE`, as in `/proc/PID/status`; nil if the file has no such line.
    package static func value(
        _ name: String,
        of path: String,
        in directory: CInt = AT_FDCWD
    ) throws(UnreadableFile) -> String? {
        let start = Array("\(name):".utf8)
        return unsafe try firstLine(of: path, in: directory) { line in
            guard unsafe line.starts(with: start) else { return nil }
            let value = unsafe line.dropFirst(start.count).drop { $0 == 0x20 || $0 == 0x09 }
            return unsafe String(decoding: value, as: UTF8.self)
        }
    }

    /// The first result of `body`, which is called with each line until it returns one; nil if it never does.
    ///
    /// For lists that other users can lengthen: reads to the end, however long the list is, in a fixed amount of memory.
    package static func firstLine<R>(
        of path: String,
        in directory: CInt = AT_FDCWD,
        _ body: (UnsafeRawBufferPointer) throws(UnreadableFile) -> R?
    ) throws(UnreadableFile) -> R? {
        let file = try open(path, in: directory)
        defer { close(file) }
        var room = [UInt8](repeating: 0, count: 1 << 14)
        // How much of the room holds the beginning of a line.
        var held = 0
        while true {
            let count = SystemCall.uninterrupted {
                unsafe room.withUnsafeMutableBytes { room in
                    unsafe read(file, room.baseAddress.map { unsafe $0 + held }, room.count - held)
                }
            }
            guard count >= 0 else { throw .system(path) }
            var failure: UnreadableFile?
            let found: R? = unsafe room.withUnsafeMutableBytes { room in
                var rest = unsafe UnsafeRawBufferPointer(rebasing: room[..<(held + count)])
                while let end = unsafe endOfLine(rest, isWhole: count == 0) {
                    do throws(UnreadableFile) {
                        let line = unsafe UnsafeRawBufferPointer(rebasing: rest[..<end])
                        if let found = unsafe try body(line) { return found }
                    } catch {
                        failure = error
                        return nil
                    }
                    unsafe rest = UnsafeRawBufferPointer(rebasing: rest[min(end + 1, rest.count)...])
                }
                held = rest.count
                if let start = rest.baseAddress, let to = room.baseAddress {
                    unsafe memmove(to, start, held)
                }
                return nil
            }
            if let failure { throw failure }
            if let found { return found }
            if count == 0 { return nil }
            guard held < longestLine else { throw UnreadableFile(path, .tooLong(longestLine)) }
            if held == room.count { room += [UInt8](repeating: 0, count: room.count) }
        }
    }

    /// Where the first line ends; nil if its end has not been read.
    private static func endOfLine(_ bytes: UnsafeRawBufferPointer, isWhole: Bool) -> Int? {
        guard let start = bytes.baseAddress, bytes.count > 0 else { return nil }
        if let end = unsafe memchr(start, 0x0A, bytes.count) { return unsafe UnsafeRawPointer(end) - start }
        return isWhole ? bytes.count : nil
    }

    private static func open(_ path: String, in directory: CInt) throws(UnreadableFile) -> CInt {
        let file = unsafe openat(directory, path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system(path) }
        return file
    }
}
