import KeychainModel
import Testing

@Suite("Text is compared byte by byte")
struct TextComparisonTests {
    // The same letter as one scalar and as two, which Swift considers equal.
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    @Test("two encodings of the same letter are different access groups")
    func groups() throws {
        try #require(composed == decomposed)
        #expect(AccessGroup(composed) != AccessGroup(decomposed))
        #expect(AccessGroup(composed) == AccessGroup(composed))
        let groups = Set([AccessGroup(composed), AccessGroup(decomposed), AccessGroup(composed)])
        #expect(groups.count == 2)
    }

    @Test("two encodings of the same letter are different attribute values, as in the store's digests")
    func values() {
        #expect(AttributeValue.string(composed) != .string(decomposed))
        #expect(AttributeValue.string(composed) == .string(composed))
        #expect(AttributeValue.data([1]) == .data([1]))
        #expect(AttributeValue.integer(1) != .date(1))
        #expect(AttributeValue.boolean(true) != .boolean(false))
        #expect(AttributeValue.integer(1) != .integer(2))
    }
}
