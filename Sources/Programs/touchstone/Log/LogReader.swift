import Glibc
import KeychainModel

/// The lines of the daemon's log, in order and across its rotation: at its maximum size the daemon renames `daemon.log` to
/// `daemon.log.1` and begins a new one.
struct LogReader: ~Copyable {
    /// The longest line, in bytes: the size at which the file is rotated.
    private static let longestLine = 1 << 20

    /// Which file a name stands for.
    private struct Identity: Equatable {
        let device: dev_t
        let inode: ino_t

        init(_ status: stat) { (device, inode) = (status.st_dev, status.st_ino) }

        init?(_ path: String) {
            var status = stat()
            guard unsafe lstat(path, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    let path: String
    private var formerPath: String { path + ".1" }
    /// The file that is read; -1 before it is there.
    private var descriptor: CInt = -1
    private var identity: Identity?
    private var offset: off_t = 0
    /// The beginning of a line whose end is not yet there.
    private var rest: [UInt8] = []

    /// The log in a keychain's data directory.
    init(in directory: String) { path = directory + "/" + StoreFile.log }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether there is a log.
    var isThere: Bool { Identity(path) != nil || Identity(formerPath) != nil }

    /// The lines of the file that was rotated away last; to be called first.
    mutating func formerLines() throws(CommandError) -> [String] {
        // Opened before: what is rotated from now on is noticed.
        try openIfThere()
        guard let former = Identity(formerPath), former != identity else { return [] }
        return try lines(ofWhole: formerPath)
    }

    /// The lines since the last call.
    mutating func newLines() throws(CommandError) -> [String] {
        var lines: [String] = []
        while true {
            try openIfThere()
            guard descriptor >= 0 else { return lines }
            try read(into: &lines)
            guard Identity(path) != identity else { return lines }
            // What was written between the last read and the new name.
            try read(into: &lines)
            if !rest.isEmpty { lines.append(takeRest()) }
            // The daemon may have rotated it more than once.
            if let former = Identity(formerPath), former != identity {
                lines += try self.lines(ofWhole: formerPath)
            }
            close(descriptor)
            (descriptor, identity, offset) = (-1, nil, 0)
        }
    }

    private mutating func openIfThere() throws(CommandError) {
        guard descriptor < 0, let opened = try Self.open(path) else { return }
        descriptor = opened
        var status = stat()
        unsafe fstat(descriptor, &status)
        identity = Identity(status)
    }

    private func lines(ofWhole path: String) throws(CommandError) -> [String] {
        var reader = LogReader(path: path)
        try reader.openIfThere()
        guard reader.descriptor >= 0 else { return [] }
        var lines: [String] = []
        try reader.read(into: &lines)
        if !reader.rest.isEmpty { lines.append(reader.takeRest()) }
        return lines
    }

    private init(path: String) { self.path = path }

    /// Reads to the present end of the file.
    private mutating func read(into lines: inout [String]) throws(CommandError) {
        var status = stat()
        // Somebody emptied it.
        if unsafe fstat(descriptor, &status) == 0, status.st_size < offset { (offset, rest) = (0, []) }
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes {
                unsafe pread(descriptor, $0.baseAddress, $0.count, offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(path) }
            guard count > 0 else { return }
            offset += off_t(count)
            for part in piece[..<count].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .enumerated()
            {
                if part.offset > 0 { lines.append(takeRest()) }
                rest += part.element
            }
            guard rest.count <= Self.longestLine else {
                throw CommandError(
                    "\(path) has a line of more than \(Self.longestLine) bytes, which the daemon does not write",
                    hint: "remove the file; the daemon makes another one when it starts",
                    exitCode: .damaged
                )
            }
        }
    }

    private mutating func takeRest() -> String {
        defer { rest = [] }
        return String(decoding: rest, as: UTF8.self)
    }

    /// Opens a log; nil if there is none.
    private static func open(_ path: String) throws(CommandError) -> CInt? {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        guard descriptor >= 0 else { throw failure(path) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw CommandError("\(path) is not a file", hint: "remove it", exitCode: .damaged)
        }
        return descriptor
    }

    private static func failure(_ path: String) -> CommandError {
        CommandError("cannot read \(path): \(SystemError.name(of: errno))")
    }
}
