import KeychainModel
import SecretMemory

@testable import PinentryDriver

/// External texts in a box: they must stay on their line and cannot hide or move anything.
///
/// The input is a byte that selects the kind of box, then texts that end with a NUL.
enum PromptsTarget: FuzzTarget {
    static let name = "prompts"

    static func run(_ input: Span<UInt8>) {
        guard input.count > 0 else { return }
        let inputs: [Prompt.Input] = [.secret, .newSecret, .confirmation, .touch, .touchOrSecret]
        let texts = input.array.dropFirst().split(
            separator: 0,
            maxSplits: 5,
            omittingEmptySubsequences: false
        )
        .map { String(decoding: $0, as: UTF8.self) }
        func text(_ index: Int) -> String { index < texts.count ? texts[index] : "" }
        let prompt = Prompt(
            inputs[Int(input[0]) % inputs.count],
            requester: text(0),
            reason: text(1),
            details: PromptDetails(title: text(5), subtitle: text(4), items: Array(texts.prefix(8))),
            heading: text(2),
            error: texts.count > 3 ? texts[3] : nil,
            cancelTitle: texts.count > 4 ? texts[4] : nil,
            fallbackTitles: texts.count > 5 ? [texts[5]] : nil
        )
        check(PromptDescription(of: prompt).line.span)
        if let shown = PromptDescription.line(
            of: prompt,
            showing: SecretBytes(copying: octets(80, from: 0x20))
        ) {
            shown.withOctets { check($0.extracting(..<($0.count - 1))) }
        }
        for text in texts { runText(text) }
    }

    private static func runText(_ text: String) {
        let shown = [
            PromptText.line(text, characters: PromptDetails.longestReason), PromptText.ofOurs(text),
            PromptText.requester(text), PromptText.label(text), PromptText.button(text).title,
            PromptText.button(text, avoiding: "c").title,
        ]
        require(shown[0].count <= PromptDetails.longestReason, "a reason within its limit")
        for text in shown {
            for scalar in text.unicodeScalars {
                switch scalar.properties.generalCategory {
                case .control, .format, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator:
                    fatalError("U+\(String(scalar.value, radix: 16)) is shown")
                default: break
                }
            }
        }
        for (text, most) in zip(shown[1...3], [PromptText.largestHeadingByteCount, 160, 160]) {
            require(AssuanLine.escaped(text).count <= most, "a text within its bytes")
        }
    }

    private static func check(_ line: Span<UInt8>) {
        require(line.count <= AssuanLine.largestByteCount, "a line of \(line.count) bytes")
        for index in line.indices {
            require(line[index] != UInt8(ascii: "\n") && line[index] != UInt8(ascii: "\r"), "one line")
        }
    }

    static func seeds() -> [[UInt8]] {
        let texts = [
            "", "to sign in", "<b>bold</b>", "100% sure", "\u{202E}esrever", "a\u{200B}b", "\u{1B}[31mred",
            "line\nbreak\r",
            "e\u{301}", "e" + String(repeating: "\u{301}", count: 40),
            "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}",
            "_under_score_", String(repeating: "%", count: 300), String(repeating: "\u{E4}", count: 300),
            String(repeating: " ", count: 50), "\u{FEFF}", "\u{E000}", "\u{2028}", "cancel",
        ]
        var seeds: [[UInt8]] = []
        for (index, text) in texts.enumerated() {
            for input in UInt8(0)..<3 {
                let next = texts[(index + 1) % texts.count]
                let all = ["/usr/bin/app (process 12)", text, "Unlock the keychain", next, text, next]
                seeds.append([(input + UInt8(index)) % 5] + Array(all.joined(separator: "\0").utf8))
            }
        }
        return seeds + [[0, 0xFF, 0xC3], [3] + texts.flatMap { Array($0.utf8) }]
    }
}
