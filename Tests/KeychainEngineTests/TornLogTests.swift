import KeychainModel
import Testing

@testable import KeychainEngine

@Suite("A log whose last change a power cut left in pieces")
struct TornLogTests {
    private static let headerByteCount = 32
    private static let slotByteCount = 24 + ItemSchema.pageByteCount
    private static let sectorByteCount = 512

    /// Where the present commit ends in a log: behind it lies the mark that it was flushed.
    private func end(_ log: [UInt8]) -> Int? {
        stride(from: Self.headerByteCount, to: log.count, by: Self.slotByteCount).reversed().first {
            log[$0...].starts(with: "TchSlog1".utf8)
        }
    }

    /// A log before a change and after it, where a sector ends 8 bytes behind the change's beginning.
    private func pair() async throws -> (before: [UInt8], after: [UInt8], start: Int) {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        for index in 0..<500 {
            let before = try keychain.octets("items.sqlite-wal")
            // Of another number of pages each.
            try await engine.add("account \(index)", String(repeating: "x", count: index * 131 % 3000))
            guard let start = end(before), (start + 8) % Self.sectorByteCount == 0 else { continue }
            let after = try keychain.octets("items.sqlite-wal")
            await engine.close()
            guard after[start...].starts(with: "TchSlog1".utf8) else { return (before, after, start) }
        }
        throw KeychainError(.internalComponent)
    }

    // The mark's beginning in the place of a page's number was taken for a commit that was flushed: all items were "damaged"
    // after a power cut at the wrong moment.
    @Test("whichever sectors of it are there, nothing is damaged that was acknowledged")
    func sectors() async throws {
        let (before, after, start) = try await pair()
        let sectors = (start / Self.sectorByteCount)...((after.count - 1) / Self.sectorByteCount)
        let changed = sectors.filter { sector in
            range(sector, after).contains { $0 >= before.count || before[$0] != after[$0] }
        }
        #expect(changed.count > 4)
        // What was there before: the mark of the commit before, or a frame of the time before the log was begun anew.
        let formerFrame: [UInt8] = [0, 0, 0, 5, 0, 0, 0, 9]
        for former in [nil, formerFrame] {
            var old = before + [UInt8](repeating: 0, count: max(0, after.count - before.count))
            if let former { old.replaceSubrange(start..<(start + former.count), with: former) }
            var images: [[UInt8]] = []
            for sector in changed {
                images.append(torn(old, after, changed.filter { $0 != sector }))
                images.append(torn(old, after, [sector]))
                images.append(torn(old, after, changed.filter { $0 < sector }))
            }
            // A change that was flushed is not torn: its mark is not there yet.
            for (index, image) in images.enumerated() {
                let unmarked = withoutMark(image, as: after)
                #expect(ItemLog(unmarked).verdict { _ in nil } == .whole, "image \(index)")
            }
        }
    }

    private func range(_ sector: Int, _ log: [UInt8]) -> Range<Int> {
        sector * Self.sectorByteCount..<min(log.count, (sector + 1) * Self.sectorByteCount)
    }

    /// The old log with some sectors of the new one.
    private func torn(_ old: [UInt8], _ new: [UInt8], _ sectors: [Int]) -> [UInt8] {
        var image = old
        for sector in sectors { image.replaceSubrange(range(sector, new), with: new[range(sector, new)]) }
        return image
    }

    private func withoutMark(_ image: [UInt8], as log: [UInt8]) -> [UInt8] {
        guard let end = end(log) else { return image }
        var image = image
        image.replaceSubrange(end..<(end + 8), with: [UInt8](repeating: 0, count: 8))
        return image
    }
}
