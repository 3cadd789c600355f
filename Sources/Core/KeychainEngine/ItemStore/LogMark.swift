internal import CItemFiles
internal import Glibc
internal import KeychainModel

/// The mark beside the log (`CItemFiles.h`): how much of the log was flushed.
///
/// The log is missing or shorter than that only through damage. In a file of its own, so that one damaged place never
/// hits both.
struct LogMark: Equatable {
    /// The salts of the log.
    let salts: [UInt8]
    /// Where the last flushed commit ends in the log, in bytes.
    let end: Int

    init(salts: [UInt8], end: Int) {
        self.salts = salts
        self.end = end
    }

    /// Reads the content of the mark; nil if it promises nothing.
    init?(_ octets: [UInt8]) {
        guard octets.count == Int(CITEMFILES_MARK_SIZE), octets.starts(with: CITEMFILES_MARK.utf8) else {
            return nil
        }
        func number(_ range: Range<Int>) -> UInt64 { octets[range].reduce(0) { $0 << 8 | UInt64($1) } }
        let wanted = unsafe citemfiles_mark_checksum(octets)
        guard number(24..<32) == wanted, let end = Int(exactly: number(8..<16)), end > 0 else { return nil }
        self.end = end
        salts = Array(octets[16..<24])
    }

    /// Reads the mark; nil if there is none, or if it promises nothing.
    static func read(in directory: StoreDirectory) throws(KeychainError) -> LogMark? {
        guard let file = try directory.openFile(StoreFile.itemsMark.rawValue, O_RDONLY) else { return nil }
        defer { close(file) }
        var octets = [UInt8](repeating: 0, count: Int(CITEMFILES_MARK_SIZE))
        let count = unsafe pread(file, &octets, octets.count, 0)
        guard count >= 0 else { throw FileError.keychainError(errno) }
        return count == octets.count ? LogMark(octets) : nil
    }
}
