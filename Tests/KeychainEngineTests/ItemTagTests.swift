import Primitives
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("The in-memory tags of rows")
struct ItemTagTests {
    /// The shortest measured time of changing one tag among `count` rows.
    private func time(ofChangeAmong count: Int64) -> Duration {
        let key = KeyedDigest(Key(SecretBytes(copying: [UInt8](repeating: 7, count: 32))))
        func tag(_ row: Int64) -> ItemTag {
            var digests = [UInt8](repeating: 0, count: LookupDigests.byteCount)
            withUnsafeBytes(of: row) { digests.replaceSubrange(LookupDigests.Part.name.range, with: $0) }
            return unsafe digests.withUnsafeBytes { digests in
                unsafe ItemTag(
                    row: row,
                    reference: UnsafeRawBufferPointer(rebasing: digests[..<16]),
                    attributes: digests,
                    digests: digests,
                    keys: nil,
                    data: nil,
                    key: key
                )
            }
        }
        var tags = ItemTags()
        for row in 1...count { tags.set(tag(row), row: row) }
        tags.keep()
        let changed = tag(count)
        var shortest = Duration.seconds(60)
        for _ in 0..<500 {
            let begin = ContinuousClock.now
            tags.set(changed, row: count / 2)
            shortest = min(shortest, ContinuousClock.now - begin)
            tags.keep()
        }
        #expect(tags.count == Int(count))
        return shortest
    }

    @Test("a change does not copy all other tags")
    func changeInPlace() {
        // A copy of 4,000 groups takes some hundred times as long as the change itself.
        #expect(time(ofChangeAmong: 64_000) < time(ofChangeAmong: 64) * 20)
    }
}
