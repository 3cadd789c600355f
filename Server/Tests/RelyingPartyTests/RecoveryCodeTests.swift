import RelyingParty
import Testing

@Suite("Recovery codes")
struct RecoveryCodeTests {
    @Test("a code is 24 digits of base 32 in groups, and no two are equal")
    func form() throws {
        var seen: Set<String> = []
        var digits: Set<Character> = []
        for _ in 0..<1000 {
            let text = RecoveryCode().text
            #expect(text.wholeMatch(of: /([0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}/) != nil, "\(text)")
            #expect(seen.insert(text).inserted)
            digits.formUnion(text)
        }
        // All 32 digits and the hyphen: of 24,000 draws none is missing by chance.
        #expect(digits.count == 33)
    }

    @Test(
        "a code is read as it was typed: capitals or not, separators anywhere, letters that look like digits"
    )
    func reading() throws {
        let code = try #require(RecoveryCode("0123-4567-89AB-CDEF-GHJK-1010"))
        #expect(code.text == "0123-4567-89AB-CDEF-GHJK-1010")
        for text in [
            "0123456789abcdefghjk1010", " o123 4567-89ab\tcdef GHJK iolO ", "O123-4567-89AB-CDEF-GHJK-IOLO",
            "0123\u{A0}4567 89AB CDEF GHJK 1010\n",
        ] { #expect(RecoveryCode(text) == code, "\(text)") }
        for text in [
            "", "-", "0123-4567-89AB-CDEF-GHJK-101", "0123-4567-89AB-CDEF-GHJK-10100",
            "U123-4567-89AB-CDEF-GHJK-1010", "0123-4567-89AB-CDEF-GHJK-101é",
            String(repeating: "0", count: 9999),
            "\u{0660}123-4567-89AB-CDEF-GHJK-1010", "0123_4567_89AB_CDEF_GHJK_1010",
        ] { #expect(RecoveryCode(text) == nil, "\(text)") }
    }

    @Test("the digest is another one for another account")
    func digest() throws {
        let code = try #require(RecoveryCode("0123-4567-89AB-CDEF-GHJK-1010"))
        let digest = code.digest(for: [1])
        #expect(digest.count == 32 && digest == code.digest(for: [1]))
        #expect(digest != code.digest(for: [2]) && digest != RecoveryCode().digest(for: [1]))
    }
}
