import KeychainModel
import SecretMemory
import Testing

@testable import PinentryDriver

@Suite("Untrusted text in prompts")
struct PromptTextTests {
    @Test(
        "control characters, bidirectional overrides and invisible characters are removed",
        arguments: [
            ("plain", "plain"), ("a\nb\r\nc", "a b c"), ("  a \t\u{A0} b  ", "a b"),
            ("a\u{202E}b\u{2066}c", "abc"),
            ("\u{1B}[2J\u{9B}1m\u{7}x\u{7F}", "[2J1mx"), ("a\u{200B}\u{200D}\u{FEFF}b", "ab"),
            ("a\u{2028}b\u{2029}c", "a b c"), ("\u{E000}\u{10FFFF}x", "x"), ("\u{3164}x\u{115F}", "x"),
            ("a\u{2800}\u{2800}b", "a b"), ("\u{2800}", ""), ("a\u{1160}\u{FFA0}\u{115F}\u{3164}b", "ab"),
            ("a\u{FE0F}\u{E0100}\u{E0041}\u{180B}\u{34F}b", "ab"), ("\u{1D159}a", "a"),
            ("héllo wörld 日本 👍", "héllo wörld 日本 👍"), ("\0", ""), ("", ""), ("\n\n", ""), ("مرحبا", "مرحبا"),
        ]
    )
    func cleaning(text: String, shown: String) {
        #expect(PromptText.line(text, characters: 200) == shown)
    }

    @Test("a long text is truncated between characters and ends in an ellipsis")
    func cutting() {
        #expect(PromptText.line("abcdef", characters: 6) == "abcdef")
        #expect(PromptText.line("abcdefg", characters: 6) == "abcde\u{2026}")
        #expect(PromptText.line("日本日本", characters: 9, octets: 11) == "日本\u{2026}")
        #expect(PromptText.line("日本日本", characters: 9, octets: 12) == "日本日本")
        #expect(PromptText.line("abc", characters: 9, octets: 2) == "")
        #expect(PromptText.line("e\u{301}e\u{301}e\u{301}", characters: 2) == "e\u{301}\u{2026}")
        for text in [
            String(repeating: "x", count: 1_000_000), String(repeating: "\u{202E}y ", count: 500_000),
        ] {
            let line = PromptText.line(text, characters: 200)
            #expect(line.count == 200 && line.hasSuffix("\u{2026}"))
        }
    }

    @Test("stacked combining marks do not draw over other lines")
    func stackedMarks() {
        let stacked = "a" + String(repeating: "\u{301}", count: 1_000_000)
        #expect(PromptText.line(stacked + "b", characters: 200) == "\u{FFFD}")
        let hidden = "a" + String(repeating: "\u{200B}\u{301}", count: 100) + "b"
        #expect(PromptText.line(hidden, characters: 200) == "\u{FFFD}b")
    }

    @Test(
        "in ASCII a letter loses its marks, and the text gets no longer",
        arguments: [
            ("plain 100% %C3", "plain 100% %C3"), ("kü", "ku"), ("ku\u{308}", "ku"), ("Straße", "Strase"),
            ("ıİğŞçØđÆœ", "iIgScOdAEoe"), ("“a” ‘b’ – c…", "\"a\" 'b' - c..."), ("日本👍мир", "??????"),
            ("", ""),
        ]
    )
    func ascii(text: String, shown: String) {
        #expect(PromptText.ascii(text) == shown)
        #expect(shown.utf8.count <= text.utf8.count)
    }

    @Test(
        "a line is broken at spaces and within long words, by columns, with an indent after the first",
        arguments: [
            ("aa bb cc", 5, "", "aa bb\ncc"), ("aa bb cc", 5, "  ", "aa bb\n  cc"),
            ("abcdefgh", 5, "  ", "abcde\n  fgh"), ("日本語", 5, "", "日本\n語"), ("a日本 b", 5, "", "a日本\nb"),
            ("👍👍👍", 5, "", "👍👍\n👍"), ("e\u{301}e\u{301} x", 4, "", "e\u{301}e\u{301} x"),
            ("ｆｕｌｌ", 4, "", "ｆｕ\nｌｌ"), ("", 5, "  ", ""),
        ]
    )
    func broken(line: String, columns: Int, indent: String, text: String) {
        #expect(PromptText.broken(line, columns: columns, indent: indent) == text)
    }

    @Test("each button has its own access key")
    func buttons() {
        #expect(PromptText.button("OK").title == "_OK")
        #expect(PromptText.button("Cancel", avoiding: "c").title == "C_ancel")
        #expect(PromptText.button("snake_case").title == "_snake__case")
        #expect(PromptText.button("日本").title == "日本")
        #expect(PromptText.button("日本").key == nil)
        #expect(PromptText.button("ccc", avoiding: "c").title == "ccc")
        #expect(PromptText.button("_").title == "__")
    }
}

@Suite("The description in a prompt")
struct PromptDescriptionTests {
    private static let floods = [
        String(repeating: "%", count: 10_000), String(repeating: "日", count: 10_000),
        String(repeating: "👍 ", count: 10_000), String(repeating: "\n%", count: 10_000), "",
    ]

    @Test("with any text the description is a single Assuan line", arguments: floods.indices, floods.indices)
    func fits(first: Int, second: Int) {
        let (one, other) = (Self.floods[first], Self.floods[second])
        for input in [Prompt.Input.secret, .newSecret, .confirmation, .touch, .touchOrSecret] {
            let prompt = Prompt(input, requester: one, reason: other, heading: one, error: one)
            let line = PromptDescription(of: prompt).line
            #expect(line.count <= AssuanLine.largestByteCount)
            #expect(!line.contains(UInt8(ascii: "\n")))
            let commands = PinentryCommands(for: prompt)
            #expect(commands.settings.allSatisfy { $0.octets.count <= AssuanLine.largestByteCount })

            let secret = SecretBytes(copying: [UInt8](repeating: UInt8(ascii: "%"), count: 80))
            let shown = PromptDescription.line(of: prompt, showing: secret)?.count ?? .max
            #expect(shown <= AssuanLine.largestByteCount + 1)
        }
    }

    @Test("the app's text is marked as such, and follows ours")
    func marked() throws {
        let prompt = Prompt(
            .touch,
            requester: "/usr/bin/app",
            reason: "x\"\nRequested by root",
            heading: "Unlock",
            error: "Again."
        )
        let line = String(decoding: PromptDescription(of: prompt).line, as: UTF8.self)
        #expect(
            line == "SETDESC Unlock%0AAgain.%0A%0ARequested by /usr/bin/app%0A"
                + "Reason it gives: \"x\" Requested by root\"%0A%0ATouch the fingerprint sensor."
        )
    }

    @Test("texts of the most bytes are shown whole, with the longest requester, heading and error of ours")
    func whole() {
        let items = (1...8).map { String(repeating: "\($0)", count: 30) }
        for (filler, reason) in [("r", 120), ("%", 40), ("日", 40)] {
            let prompt = Prompt(
                .touch,
                requester: "/" + String(repeating: "p", count: 200),
                reason: String(repeating: filler, count: reason),
                details: PromptDetails(
                    title: String(repeating: "t", count: 60),
                    subtitle: String(repeating: "s", count: 60),
                    items: items
                ),
                heading: "Enter the keychain's passcode: the first time here, a finger is not enough",
                error: "Put the finger on the middle of the sensor."
            )
            let text = PromptDescription.text(of: prompt, flavor: PinentryFlavor(name: ""))
            let lines = text.split(separator: "\n").map(String.init)
            #expect(lines.contains("Reason it gives: \"\(prompt.reason)\""), "\(text)")
            for item in items { #expect(lines.contains("- \"\(item)\""), "\(text)") }
        }
    }

    @Test("lines without room end in an ellipsis, and longer texts than their limits are cut")
    func cut() throws {
        let prompt = Prompt(
            .touch,
            requester: "/usr/bin/app",
            reason: String(repeating: "r", count: 1000),
            details: PromptDetails(
                title: String(repeating: "t", count: 1000),
                subtitle: "",
                items: Array(repeating: String(repeating: "i", count: 1000), count: 20)
            ),
            heading: "Unlock"
        )
        let line = PromptDescription(of: prompt).line
        #expect(line.count <= AssuanLine.largestByteCount)
        let text = PromptDescription.text(of: prompt, flavor: PinentryFlavor(name: ""))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.contains("Its title: \"\(String(repeating: "t", count: 59))\u{2026}\""))
        #expect(!lines.contains { $0.hasPrefix("Its subtitle") })
        #expect(lines.contains("Reason it gives: \"\(String(repeating: "r", count: 199))\u{2026}\""))
        #expect(lines.filter { $0.hasPrefix("- ") }.count < 9 && lines.contains("\u{2026}"), "\(text)")
    }

    @Test("a secret that does not fit is not shown in part")
    func tooLong() async throws {
        let prompt = Prompt(.confirmation, requester: "app", heading: "Code")
        for count in [0, 81, 100_000] {
            let secret = SecretBytes(copying: [UInt8](repeating: 65, count: count))
            let isShown = PromptDescription.line(of: prompt, showing: secret) != nil
            #expect(!isShown)
        }
    }
}
