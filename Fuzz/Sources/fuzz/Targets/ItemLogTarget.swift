import CItemFiles

@testable import KeychainEngine

/// The items' write-ahead log, which the daemon reads before SQLite does.
///
/// The input is the log, with SQLite's smallest page size.
enum ItemLogTarget: FuzzTarget {
    static let name = "item-log"
    private static let pageByteCount = 512

    static func run(_ input: Span<UInt8>) {
        let log = ItemLog(input.array, pageByteCount: pageByteCount)
        let verdict = log.verdict { _ in nil }
        guard let salvaged = log.salvaged() else { return }
        let again = ItemLog(salvaged.octets, pageByteCount: pageByteCount)
        require(again.verdict { _ in nil } == .whole, "what was saved is whole")
        require(verdict == .damaged || salvaged.octets.count <= input.count, "nothing is made up")
    }

    static func seeds() -> [[UInt8]] {
        [1, 2, 5, 9].flatMap { count in
            let whole = log(frames: count)
            var flipped = whole
            flipped[whole.count - 100] ^= 8
            var header = whole
            header[17] ^= 1
            var twice = flipped
            twice[whole.count - 300] ^= 1
            // Followed by frames of an older log, as after a restart of the log.
            let begunAnew = whole + log(frames: count + 2, salt: 40).dropFirst(whole.count)
            return [
                whole, flipped, header, twice, begunAnew, Array(whole.dropLast(200)),
                whole + [UInt8](repeating: 0, count: 1072), marked(whole), marked(flipped), marked(header),
            ] + damaged(marked(whole), most: 6)
        }
    }

    /// The log with the mark that follows a flush (`item_files.c`).
    private static func marked(_ log: [UInt8]) -> [UInt8] {
        func number(_ number: UInt64) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        }
        var mark = Array(CITEMFILES_MARK.utf8) + number(UInt64(log.count)) + log[16..<24]
        mark += [UInt8](repeating: 0, count: 8)
        mark.replaceSubrange(24..., with: number(unsafe citemfiles_mark_checksum(mark)))
        return log + mark
    }

    /// A log with this many frames, each of them a commit, and with correct checksums.
    private static func log(frames: Int, salt: UInt8 = 1) -> [UInt8] {
        func number(_ number: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }
        let salts = octets(8, from: salt)
        var log = number(0x377F_0682) + number(3_007_000) + number(UInt32(pageByteCount)) + number(0)
        log += salts + number(0) + number(0)
        for frame in 0..<frames {
            log += number(UInt32(frame + 1)) + number(UInt32(frames)) + salts + number(0) + number(0)
            log += (0..<pageByteCount).map { UInt8(truncatingIfNeeded: $0 * (frame + 3)) }
        }
        return ItemLog(log, pageByteCount: pageByteCount).salvaged()?.octets ?? log
    }
}
