import SecretMemory
@_spi(_Unicode) import Swift
import Testing

@testable import AuthenticationEngine

@Suite("Normalisation of passcodes (NFC)")
struct NormalizationFormCTests {
    private static func normalized(_ text: String) -> String {
        NormalizationFormC.of(SecretBytes(copying: Array(text.utf8))).withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    private static func expected(_ text: String) -> [Unicode.Scalar] { Array(text._nfc) }

    @Test(
        "normalising piece by piece equals normalising the whole text",
        arguments: [
            "plain ASCII", "Zürich im Käse", "Zu\u{308}rich im Ka\u{308}se",
            "a\u{323}\u{307}\u{302}b\u{307}\u{323}",
            "\u{212B}\u{2126}\u{F900}", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}한글",
            "\u{AC00}\u{11A8}",
            "ka\u{9C7}\u{9BE}\u{BC6}\u{BBE}\u{D46}\u{D3E}\u{DD9}\u{DCF}\u{DCA}", "\u{308}starts with a mark",
            "马电池主食正确的密码短语", "şifre çok güçlü ğüşiöç",
            "👩‍👩‍👧‍👦 family e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
        ]
    )
    func pieces(_ text: String) {
        #expect(Array(Self.normalized(text).unicodeScalars) == Self.expected(text))
    }

    // A cut before one of these would separate what composes.
    @Test("every scalar after the first of a decomposition joins with what precedes it")
    func joining() {
        var seen = 0
        for value in UInt32(0x80)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let parts = Array(String(scalar)._nfd)
            guard parts.count > 1, Array(String(scalar)._nfc) == [scalar] else { continue }
            seen += 1
            for part in parts.dropFirst() where !NormalizationFormC.joins(part) {
                Issue.record("U+\(String(part.value, radix: 16)) of U+\(String(value, radix: 16))")
            }
        }
        // This includes all Hangul syllables.
        #expect(seen > 11_172)
    }

    @Test("bytes that are not UTF-8 are kept unchanged")
    func garbage() {
        let octets: [UInt8] = [0x61, 0xCC, 0x88, 0x62, 0xFF, 0xFE, 0x63]
        let result = NormalizationFormC.of(SecretBytes(copying: octets))
        let found = result.withOctets { octets in octets.indices.map { octets[$0] } }
        #expect(found == [0xC3, 0xA4, 0x62, 0xFF, 0xFE, 0x63])
    }
}
