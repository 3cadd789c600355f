@testable import KeychainEngine

/// The write-ahead log of the items, as the daemon reads it before SQLite does.
///
/// The input is the log, with SQLite's smallest pages.
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
        [1, 2, 5].flatMap { count in
            let whole = log(frames: count)
            var flipped = whole
            flipped[whole.count - 100] ^= 8
            var header = whole
            header[17] ^= 1
            return [
                whole, flipped, header, Array(whole.dropLast(200)),
                whole + [UInt8](repeating: 0, count: 1072),
            ]
        }
    }

    /// A log of so many frames, each of which is a commit; a damaged one that was put right.
    private static func log(frames: Int) -> [UInt8] {
        func number(_ number: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
        }
        let salts: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        var octets = number(0x377F_0682) + number(3_007_000) + number(UInt32(pageByteCount)) + number(0)
        octets += salts + number(0) + number(0)
        for frame in 0..<frames {
            octets += number(UInt32(frame + 1)) + number(UInt32(frames)) + salts + number(0) + number(0)
            octets += (0..<pageByteCount).map { UInt8(truncatingIfNeeded: $0 * (frame + 3)) }
        }
        return ItemLog(octets, pageByteCount: pageByteCount).salvaged()?.octets ?? octets
    }
}
