internal import AccountStore
internal import Foundation

/// The file of the setting `audit-head-file`: one head in each line, the latest last.
///
/// It is only appended to, so that it may have the attribute for that (`chattr +a`). All functions block.
struct AuditHeadFile: Sendable {
    let path: String

    /// For both functions, so that what cannot be appended to is an error at once.
    private static let flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY

    /// The latest head; nil: there is no file, or it is empty.
    ///
    /// - Throws: ``ConfigurationFault`` when the file cannot be read, or does not end with heads.
    func last() throws(ConfigurationFault) -> AuditHead? {
        let descriptor = open(path, Self.flags)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw fault()
        }
        defer { close(descriptor) }
        return try end(of: descriptor).head
    }

    /// Appends a head durably.
    ///
    /// - Parameters:
    ///   - head: the head.
    ///   - former: the latest one that is in the file, if any is.
    /// - Returns: false: another server appends to the file, or did so; nothing was written.
    /// - Throws: ``ConfigurationFault`` when the file cannot be written.
    func append(_ head: AuditHead, following former: AuditHead?) throws(ConfigurationFault) -> Bool {
        let descriptor = open(path, Self.flags | O_CREAT, 0o600)
        guard descriptor >= 0 else { throw fault() }
        defer { close(descriptor) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return false }
            throw fault()
        }
        let end = try end(of: descriptor)
        guard end.head == nil || end.head == former else { return false }
        // In one call; what a full disk or a loss of power cut off is left as a line of its own.
        let bytes = (end.isCut ? [UInt8(ascii: "\n")] : []) + head.line
        let count = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else {
            throw count < 0 ? fault() : ConfigurationFault(place: path, reason: "was written in part only")
        }
        guard fdatasync(descriptor) == 0 else { throw fault() }
        return true
    }

    /// Whether heads can be appended, without creating the file.
    ///
    /// - Throws: ``ConfigurationFault``.
    func check() throws(ConfigurationFault) {
        guard try last() == nil, access(path, F_OK) != 0 else { return }
        let directory = URL(filePath: path).deletingLastPathComponent().path
        guard access(directory, W_OK | X_OK) == 0 else { throw fault() }
    }

    /// The last head of an open file, and whether its last line has no end.
    private func end(of descriptor: CInt) throws(ConfigurationFault) -> (head: AuditHead?, isCut: Bool) {
        // A pipe has no end to read from, and is refused by this.
        let size = lseek(descriptor, 0, SEEK_END)
        guard size >= 0 else { throw fault() }
        guard size > 0 else { return (nil, false) }
        var bytes = [UInt8](repeating: 0, count: Int(min(size, 4 * off_t(AuditHead.mostLineBytes))))
        let offset = size - off_t(bytes.count)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe pread(descriptor, $0.baseAddress, $0.count, offset)
        }
        guard count == bytes.count else { throw fault() }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let isCut = bytes.last != UInt8(ascii: "\n")
        guard let head = lines.reversed().lazy.compactMap({ AuditHead(line: $0) }).first else {
            // The very first line was cut off.
            if isCut, lines.count == 1, bytes[0] == UInt8(ascii: "{"), size < AuditHead.mostLineBytes {
                return (nil, true)
            }
            throw ConfigurationFault(
                place: path,
                reason: "does not end with a head of the audit: move it away, or name another file"
            )
        }
        return (head, isCut)
    }

    private func fault() -> ConfigurationFault {
        ConfigurationFault(place: path, reason: unsafe String(cString: strerror(errno)))
    }
}

extension AuditHeadFile {
    /// Calls `body` with each line that is not empty and its number; nil stands for a line that is no head.
    ///
    /// - Throws: ``ConfigurationFault`` when the file cannot be read; errors of `body`.
    func forEach(_ body: (AuditHead?, _ line: Int) async throws -> Void) async throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw fault() }
        defer { try? file.close() }
        var (rest, number, isTooLong) = ([UInt8](), 0, false)
        while true {
            let piece = try file.read(upToCount: 65_536) ?? Data()
            for byte in piece.isEmpty ? Data("\n".utf8) : piece {
                guard byte == UInt8(ascii: "\n") else {
                    isTooLong = isTooLong || rest.count == AuditHead.mostLineBytes
                    if !isTooLong { rest.append(byte) }
                    continue
                }
                number += 1
                if !rest.isEmpty { try await body(isTooLong ? nil : AuditHead(line: rest), number) }
                rest.removeAll(keepingCapacity: true)
                isTooLong = false
            }
            if piece.isEmpty { return }
        }
    }
}
