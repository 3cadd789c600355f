import KeychainModel
import Testing

@Suite("Text is compared by its bytes")
struct TextComparisonTests {
    // One letter, spelled in one scalar and in two: equal as Swift's text.
    private let composed = "caf\u{E9}"
    private let decomposed = "cafe\u{301}"

    @Test("two spellings of one letter are two access groups, and each is itself")
    func groups() throws {
        try #require(composed == decomposed)
        #expect(AccessGroup(composed) != AccessGroup(decomposed))
        #expect(AccessGroup(composed) == AccessGroup(composed))
        let groups = Set([AccessGroup(composed), AccessGroup(decomposed), AccessGroup(composed)])
        #expect(groups.count == 2)
    }

    @Test("and two values of an attribute, as in the store's digests")
    func values() {
        #expect(AttributeValue.string(composed) != .string(decomposed))
        #expect(AttributeValue.string(composed) == .string(composed))
        #expect(AttributeValue.data([1]) == .data([1]))
        #expect(AttributeValue.integer(1) != .date(1))
        #expect(AttributeValue.boolean(true) != .boolean(false))
        #expect(AttributeValue.integer(1) != .integer(2))
    }
}
