import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("A write-ahead log whose last change was torn by a power loss")
struct TornLogTests {
    private static let sectorByteCount = 512

    /// The offset of the current commit's end, as the mark beside the log says; nil if it promises nothing, as after set-up.
    private func end(_ keychain: TestKeychain) throws -> Int? {
        LogMark(try keychain.octets("items.sqlite-mark"))?.end
    }

    /// A log before and after a change, chosen so that a sector boundary is 8 bytes after the change's start.
    private func pair() async throws -> (before: [UInt8], after: [UInt8], start: Int) {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        for index in 0..<500 {
            let before = try keychain.octets("items.sqlite-wal")
            let start = try end(keychain)
            // Each of a different number of pages.
            try await engine.add("account \(index)", String(repeating: "x", count: index * 131 % 3000))
            guard let start, (start + 8) % Self.sectorByteCount == 0 else { continue }
            let after = try keychain.octets("items.sqlite-wal")
            let hasMoved = try #require(try end(keychain)) > start
            await engine.close()
            if hasMoved { return (before, after, start) }
        }
        throw KeychainError(.internalComponent)
    }

    // Regression: a partial mark where a page number belongs was taken for a flushed commit, so that a power
    // loss at the wrong moment made all items "damaged".
    @Test("any subset of the written sectors leaves the acknowledged changes intact")
    func sectors() async throws {
        let (before, after, start) = try await pair()
        let sectors = (start / Self.sectorByteCount)...((after.count - 1) / Self.sectorByteCount)
        let changed = sectors.filter { sector in
            range(sector, after).contains { $0 >= before.count || before[$0] != after[$0] }
        }
        #expect(changed.count > 4)
        // The mark of the change is not there yet: it is written after the flush.
        let mark = LogMark(salts: Array(before[16..<24]), end: start)
        // The former content: the mark of an earlier version, or a frame from before the log was restarted.
        for former in [nil, Array("TchSlog1".utf8), [0, 0, 0, 5, 0, 0, 0, 9]] {
            var old = before + [UInt8](repeating: 0, count: max(0, after.count - before.count))
            if let former { old.replaceSubrange(start..<(start + former.count), with: former) }
            var images: [[UInt8]] = []
            for sector in changed {
                images.append(torn(old, after, changed.filter { $0 != sector }))
                images.append(torn(old, after, [sector]))
                images.append(torn(old, after, changed.filter { $0 < sector }))
            }
            for (index, image) in images.enumerated() {
                for mark in [mark, nil] {
                    let log = ItemLog(image, mark: mark)
                    #expect(log.judged { _ in nil }.verdict == .whole, "image \(index)")
                }
            }
        }
    }

    private func range(_ sector: Int, _ log: [UInt8]) -> Range<Int> {
        sector * Self.sectorByteCount..<min(log.count, (sector + 1) * Self.sectorByteCount)
    }

    /// The old log with some sectors of the new log.
    private func torn(_ old: [UInt8], _ new: [UInt8], _ sectors: [Int]) -> [UInt8] {
        var image = old
        for sector in sectors { image.replaceSubrange(range(sector, new), with: new[range(sector, new)]) }
        return image
    }
}
