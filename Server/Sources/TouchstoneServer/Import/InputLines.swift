internal import Foundation

/// The lines of a file or of standard input, read piece by piece.
struct InputLines: ~Copyable {
    /// The maximum length of a line, in bytes.
    static let mostBytes = 64 * 1024

    /// A line.
    enum Line: Equatable {
        case text([UInt8])
        /// Longer than ``mostBytes``; its text is skipped.
        case tooLong
    }

    private let name: String
    private let descriptor: CInt
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false

    /// Opens a file; `-` is standard input.
    ///
    /// - Throws: ``InputFault``.
    init(_ path: String) throws(InputFault) {
        name = path
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw InputFault(path) }
    }

    deinit { close(descriptor) }

    /// The next line without its end; nil: there is none.
    ///
    /// - Throws: ``InputFault``.
    mutating func next() throws(InputFault) -> Line? {
        var line: [UInt8] = []
        var isTooLong = false
        while true {
            if position == buffer.count { try fill() }
            let rest = buffer[position...]
            guard !rest.isEmpty else {
                if isTooLong { return .tooLong }
                return line.isEmpty ? nil : .text(line)
            }
            let end = rest.firstIndex(of: UInt8(ascii: "\n"))
            let part = rest[..<(end ?? rest.endIndex)]
            if line.count + part.count > Self.mostBytes { isTooLong = true }
            if !isTooLong { line += part }
            position = end.map { $0 + 1 } ?? buffer.count
            guard end != nil else { continue }
            if isTooLong { return .tooLong }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            return .text(line)
        }
    }

    private mutating func fill() throws(InputFault) {
        (buffer, position) = ([], 0)
        guard !isAtEnd else { return }
        var bytes = [UInt8](repeating: 0, count: 64 * 1024)
        var count = -1
        repeat {
            count = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        } while count < 0 && errno == EINTR
        guard count >= 0 else { throw InputFault(name) }
        isAtEnd = count == 0
        buffer = Array(bytes[..<count])
    }
}

/// A file that is to be read cannot be.
public struct InputFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file and the system's message.
    public let description: String

    /// From `errno`.
    init(_ path: String) {
        description = "\(LogEscapes.text(path)): \(String(cString: strerror(errno)))"
    }
}
