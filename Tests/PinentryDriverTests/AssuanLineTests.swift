import SecretMemory
import Testing

@testable import PinentryDriver

@Suite("Assuan lines")
struct AssuanLineTests {
    @Test(
        "escaped text cannot end the line",
        arguments: [
            ("plain", "plain"), ("100 %", "100 %25"), ("a\nGETPIN", "a%0AGETPIN"), ("a\r\n", "a%0D%0A"),
            ("%41", "%2541"), ("wörld", "wörld"), ("", ""),
        ]
    )
    func escaping(text: String, escaped: String) {
        #expect(AssuanLine.escaped(text) == Array(escaped.utf8))
    }

    @Test(
        "a payload is decoded",
        arguments: [
            ("plain", "plain"), ("100%25", "100%"), ("%0a%0D", "\n\r"), ("%2525", "%25"), ("", ""),
            ("+", "+"),
        ]
    )
    func decoding(payload: String, text: String) {
        var octets = SecretBuffer()
        let isDecoded = AssuanLine.decode(Array(payload.utf8).span, into: &octets)
        #expect(isDecoded)
        let equal = octets.withOctets { octets in octets.indices.map { octets[$0] } == Array(text.utf8) }
        #expect(equal)
    }

    @Test("a malformed escape is refused", arguments: ["%", "%2", "a%", "%zz", "%2g", "%-1", "% 1", "%%25"])
    func malformed(payload: String) {
        var octets = SecretBuffer()
        let isDecoded = AssuanLine.decode(Array(payload.utf8).span, into: &octets)
        #expect(!isDecoded)
    }

    @Test(
        "each kind of line is recognised",
        arguments: [
            ("OK", AssuanLine.Kind.ok), ("OK Pleased to meet you", .ok), ("OKAY", .unknown),
            ("D secret", .data),
            ("D", .data), ("Data", .unknown), ("S PIN_REPEATED", .status("PIN_REPEATED")),
            ("S ERROR curses.isatty 83918950 ", .status("ERROR")), ("S", .status("")), ("# note", .comment),
            ("", .comment), ("INQUIRE QUALITY a", .inquire), ("END", .end), ("", .comment),
            ("ERR 83886179 Operation cancelled <Pinentry>", .error(.cancelled)), ("ERR", .unknown),
            ("ERR -1", .unknown), ("ERR 99999999999", .unknown), ("ERR 1", .error(PinentryCode(1))),
            ("garbage", .unknown), ("\u{1B}[2J", .unknown), ("OK\u{0}", .unknown),
        ]
    )
    func kinds(line: String, kind: AssuanLine.Kind) {
        #expect(AssuanLine.kind(of: Array(line.utf8).span) == kind)
    }

    @Test("an error code is recognised from every error source")
    func sources() {
        #expect(PinentryCode(99).meaning == .cancelled)
        #expect(PinentryCode(83_886_179).meaning == .cancelled)
        #expect(PinentryCode(83_886_194).meaning == .cancelled)
        #expect(PinentryCode(83_886_142).meaning == .timedOut)
        #expect(PinentryCode(83_918_950).meaning == .notInteractive)
        #expect(PinentryCode(83_886_085).meaning == .failed)
    }
}
