@testable import KeychainEngine

/// The items' write-ahead log, which the daemon reads before SQLite does.
///
/// The input is the log, with SQLite's smallest page size.
enum ItemLogTarget: FuzzTarget {
    static let name = "item-log"
    private static let pageByteCount = 512

    static func run(_ input: Span<UInt8>) {
        let octets = input.array
        // As with the mark of a log that was flushed to its end.
        let mark = LogMark(salts: Array(octets.dropFirst(16).prefix(8)), end: max(1, octets.count))
        for mark in [nil, mark] {
            let log = ItemLog(octets, mark: mark, pageByteCount: pageByteCount)
            let isWhole = log.judged { _ in nil }.verdict == .whole
            for (slot, frame) in log.frames(isWhole: isWhole).enumerated() {
                require(log.page(slot).count == pageByteCount, "a frame has a page")
                require(!isWhole || !frame.isCommitted || frame.isWhole, "a whole log has whole frames")
                _ = TableLeaf.cells(of: Array(log.page(slot))).map {
                    TableLeaf.values(of: Array(log.page(slot).dropFirst($0.local.lowerBound)))
                }
            }
        }
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
                whole + [UInt8](repeating: 0, count: 1072),
            ] + damaged(whole, most: 6)
        }
    }

    /// A log with this many frames, each of them a commit, and with correct checksums.
    private static func log(frames: Int, salt: UInt8 = 1) -> [UInt8] {
        func number(_ number: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }
        let salts = octets(8, from: salt)
        var log = number(0x377F_0682) + number(3_007_000) + number(UInt32(pageByteCount)) + number(0) + salts
        // The checksum of little-endian numbers (sqlite.org/fileformat2, section 4.2), which continues over all frames.
        var sum: (one: UInt32, two: UInt32) = (0, 0)
        func add(_ octets: [UInt8]) {
            func number(_ place: Int) -> UInt32 {
                octets[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
            }
            for place in stride(from: 0, to: octets.count, by: 8) {
                sum.one &+= number(place) &+ sum.two
                sum.two &+= number(place + 4) &+ sum.one
            }
        }
        add(log)
        log += number(sum.one) + number(sum.two)
        for frame in 0..<frames {
            let head = number(UInt32(frame + 1)) + number(UInt32(frames))
            let page = (0..<pageByteCount).map { UInt8(truncatingIfNeeded: $0 * (frame + 3)) }
            add(head)
            add(page)
            log += head + salts + number(sum.one) + number(sum.two) + page
        }
        return log
    }
}
