import Foundation
import FrequentWords
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite("The strength of a new passcode")
struct PasscodeStrengthTests {
    private func judge(
        _ text: String,
        limited: Bool = false,
        userName: String? = nil
    ) -> PasscodeStrength.Verdict {
        PasscodeStrength(isGuessingLimited: limited, userName: userName).judge(Array(text.utf8).span)
    }

    @Test(
        "a long passcode without known parts is accepted",
        arguments: [
            "orbit hazel trumpet velvet quarry", "Tr0mb-Ku7!zLq9", "plankwigmure", "x7Kd02mQzb4r",
            "gülümseyen çaydanlık", "紙飛行機が空を飛んで行った", "winter coffee dragon castle guitar",
        ]
    )
    func good(_ text: String) {
        #expect(judge(text) == .acceptable)
    }

    @Test("a short passcode is refused", arguments: ["a", "Tr0mb-Ku7!z", "qwerty", "ÄÖÜäöü"])
    func short(_ text: String) {
        #expect(judge(text) == .refused(.tooShort(minimum: 12)))
    }

    @Test(
        "a passcode of common words is refused",
        arguments: [
            "password1234", "P@ssw0rd2024!", "iloveyoubaby", "letmeinletmein1", "Dragon-Monkey-99",
            "correcthorse1".replacing("correct", with: "master"), "sunshine2019!!", "m1chaelj0rdan",
            "FOOTBALL-1987",
            "keychain-touchstone",
        ]
    )
    func common(_ text: String) {
        #expect(judge(text) == .refused(.common))
    }

    @Test(
        "words are known reversed, joined, with years, with digits for letters, and in other languages",
        arguments: [
            "MyDogIsBrown2019", "Tr0ub4dor&3xyz", "mydogisbrown", "NworBsIgodym2019", "drowssap-terces!",
            "monkey-dragon-yeknom", "ILoveMyDogRover1985", "thisismypassword1", "MyCatIsMyCat2020",
            "tequieromucho", "ichliebedich1", "jetaimemaman", "amoreternoteamo", "manchesterunited1",
            "5umm3r-h0l1d4y!", "JohnSmith1985!", "liverpoolFC1892",
        ]
    )
    func joined(_ text: String) {
        #expect(judge(text) != .acceptable)
    }

    @Test("capitals in unusual places make a word costlier, usual ones do not")
    func capitals() {
        func bits(_ text: String) -> Int {
            Guessability(knowsWords: true, userName: nil).bits(
                of: Array(text.utf8).span,
                upTo: text.utf8.count
            )
        }
        let plain = bits("basketball")
        for text in ["Basketball", "BASKETBALL", "basketbalL"] { #expect(bits(text) == plain, "\(text)") }
        for text in ["baSketball", "BasKetBall", "bAsKeTbAlL"] { #expect(bits(text) > plain, "\(text)") }
        // Backwards it costs one decision more.
        #expect((plain + 1...plain + 3).contains(bits("llabteksab")))
    }

    @Test("the lists are whole: added words are found, also backwards, and phrases are in lower case")
    func lists() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Scripts/passcode-words/own.txt")
        let words = try String(contentsOf: file, encoding: .utf8).split { $0.isWhitespace }.map(String.init)
        for word in words.enumerated().filter({ $0.offset.isMultiple(of: CaseSize.of(150, full: 1)) }).map(
            \.element
        ) {
            #expect(FrequentWords.contains(word), "\(word)")
            #expect(FrequentWords.contains(String(word.reversed())), "\(word)")
        }
        // The last word of the list, and none after it.
        #expect(FrequentWords.contains("zzzzzzz1"))
        #expect(!FrequentWords.contains("zzzzzzzzzzzzzz-"))
        #expect(!FrequentWords.contains(""))
        #expect(FrequentWords.phrases.count > 200)
        for phrase in FrequentWords.phrases {
            #expect(phrase.count > 5)
            #expect(phrase.allSatisfy { FrequentWords.fold($0, .plain) == $0 })
        }
    }

    @Test(
        "a pattern is refused",
        arguments: [
            "aaaaaaaaaaaa", "abcdefghijkl", "qwertyuiopas", "1q2w3e4r5t6y", "zxcvbnm,./zx",
            "Xk#Xk#Xk#Xk#Xk#",
            "!@#$%^&*()_+", "ababababababab",
        ]
    )
    func pattern(_ text: String) {
        #expect(judge(text) == .refused(.pattern))
    }

    @Test(
        "a passcode of digits alone is refused",
        arguments: ["839201746650", "8392 0174 6650", "1987-04-12 1990"]
    )
    func digits(_ text: String) {
        #expect(judge(text) == .refused(.digitsOnly))
    }

    @Test("digits are accepted where hardware limits guessing, except common sequences")
    func limited() {
        #expect(judge("839207", limited: true) == .acceptable)
        #expect(judge("8392", limited: true) == .refused(.tooShort(minimum: 6)))
        for usual in ["123456", "111111", "121212", "654321", "147258", "112233", "159753"] {
            #expect(judge(usual, limited: true) != .acceptable)
        }
        #expect(judge("password", limited: true) == .refused(.common))
    }

    @Test("the user name with decorations is refused")
    func userName() {
        #expect(judge("wigmurette!!2024", userName: "Wigmurette") == .refused(.common))
        #expect(judge("wigmurette!!2024") == .acceptable)
    }

    @Test("too long passcodes, NUL, control characters and invalid UTF-8 are refused, never truncated")
    func unusable() {
        #expect(judge(String(repeating: "wigmur pla", count: 100_000)) == .refused(.tooLong))
        #expect(judge("plank\0wigmure") == .refused(.unusableCharacter))
        #expect(judge("plank\nwigmure") == .refused(.unusableCharacter))
        let broken: [UInt8] = Array("plankwigmure".utf8) + [0xC3]
        #expect(PasscodeStrength(isGuessingLimited: false).judge(broken.span) == .refused(.unusableCharacter))
    }

    @Test("composed and decomposed forms are the same passcode")
    func normalisation() {
        let composed = "caf\u{E9} plankwigmur"
        let decomposed = "cafe\u{301} plankwigmur"
        #expect(judge(composed) == .acceptable)
        #expect(judge(decomposed) == .acceptable)
        let typed = TypedSecret(SecretBytes(copying: Array(composed.utf8)))
        #expect(typed.matches(TypedSecret(SecretBytes(copying: Array(decomposed.utf8)))))
        let mixed = TypedSecret(SecretBytes(copying: Array("x\u{1100}\u{1161} q\u{323}\u{307}".utf8)))
        let same = TypedSecret(SecretBytes(copying: Array("x\u{AC00} q\u{307}\u{323}".utf8)))
        #expect(mixed.matches(same))
        let broken: [UInt8] = [0x61, 0xCC, 0x62, 0xFF]
        let kept = TypedSecret(SecretBytes(copying: broken)).octets.withOctets { span in
            span.indices.map { span[$0] }
        }
        #expect(kept == broken)
    }

    @Test("no listed word is accepted alone, doubled, or with digits and punctuation")
    func list() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Scripts/passcode-words/own.txt")
        let words = try String(contentsOf: file, encoding: .utf8).split { $0.isWhitespace }.map(String.init)
        #expect(words.count >= 1000)
        var accepted: [String] = []
        for index in stride(from: 0, to: words.count, by: CaseSize.of(20, full: 1)) {
            let word = words[index]
            for form in [word, word + word, word.uppercased() + "2024!", "!!" + word + "123"] {
                if judge(form) == .acceptable { accepted.append(form) }
            }
            if judge(word, limited: true) == .acceptable { accepted.append(word) }
        }
        #expect(accepted.isEmpty)
    }

    @Test(
        "a well-known phrase is refused, however it is written",
        arguments: [
            "correct horse battery staple", "CorrectHorseBatteryStaple", "correct-horse-battery-staple!",
            "c0rrect h0rse b@ttery st4ple", "to be or not to be, that is the question",
            "Don't panic and carry a towel 42",
            "May the Force be with you",
            "The quick brown fox jumps over the lazy dog.", "password1 password1",
            "qwerty qwerty qwerty!", "lorem ipsum dolor sit amet",
        ]
    )
    func phrases(_ text: String) {
        #expect(judge(text) != .acceptable)
        // With two punctuation marks more it withstands ten guesses.
        if text.allSatisfy({ $0.isLetter || $0 == " " }) {
            #expect(judge(text, limited: true) != .acceptable)
        }
    }

    @Test("the most common leaked passwords are refused, also with hardware")
    func leaked() {
        for text in [
            "trustno1", "letmein", "monkey", "dragon", "football1", "iloveyou", "p@ssw0rd",
            "passw0rd1", "michelle", "liverpool", "qazwsxedc", "hunter", "starwars",
        ] {
            #expect(judge(text, limited: true) != .acceptable, "\(text)")
        }
    }

    @Test("five unrelated words are accepted, and sixteen random letters nearly always")
    func random() {
        var generator = SplitMix64(seed: 15)
        let words = """
            orbit hazel trumpet velvet quarry marble lantern orchid tundra pillow copper walnut glacier saddle
            pepper anchor violin meadow thunder basket
            """.split { $0.isWhitespace }
        for _ in 0..<50 {
            let phrase = words.shuffled(using: &generator).prefix(5).joined(separator: " ")
            #expect(judge(phrase) == .acceptable, "\(phrase)")
        }
        let letters = Array("abcdefghijklmnopqrstuvwxyz")
        let refused = (0..<100).count { _ in
            let text = String((0..<16).map { _ in letters.randomElement(using: &generator) ?? "a" })
            return judge(text) != .acceptable
        }
        #expect(refused <= 5)
    }

    @Test("twelve random letters and four random words are refused at most once in a thousand")
    func refusedByChance() async throws {
        let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/Programs/touchstone/Generate/WordList.swift")
        let words = try String(contentsOf: source, encoding: .utf8).components(separatedBy: "\"\"\"")[1]
            .split { $0.isWhitespace }.map(String.init)
        #expect(words.count == 7776)
        // 10,000 strings and 10,000 phrases take minutes without optimisation: on their own thread, because
        // the other tests need the pool's threads.
        let count = CaseSize.of(40, full: 10_000)
        let judging = BlockingCall {
            var generator = SplitMix64(seed: 27)
            let letters = Array("abcdefghijklmnopqrstuvwxyz")
            let texts = (0..<count).map { _ in
                String((0..<12).map { _ in letters.randomElement(using: &generator) ?? "a" })
            }
            let phrases = (0..<count).map { _ in
                (0..<4).map { _ in words.randomElement(using: &generator) ?? "" }.joined(separator: "-")
            }
            return [texts, phrases].map { $0.filter { text in judge(text) != .acceptable } }
        }
        for refused in try await judging.value {
            #expect(refused.count <= count / 1000, "\(refused)")
        }
    }

    @Test("passcodes drawn as touchstone generate draws them, of all character kinds, are accepted")
    func generated() {
        var generator = SplitMix64(seed: 24)
        let characters = (0x21...0x7E).map { Character(Unicode.Scalar(UInt8($0))) }
        for _ in 0..<CaseSize.of(10, full: 1000) {
            let text = String((0..<24).map { _ in characters.randomElement(using: &generator) ?? "a" })
            #expect(judge(text) == .acceptable, "\(text)")
        }
    }

    @Test("the rule is one sentence with its reason, and the prompt's judge agrees with the engine")
    func judgement() {
        for limited in [false, true] {
            let rules = PasscodeStrength(isGuessingLimited: limited)
            #expect(rules.ruleWithReason.contains("because"))
            let judge: NewSecretJudge = rules.judge
            #expect(judge.rule == "A passcode has \(rules.ruleWithReason).")
            for text in ["", "a", "password", "orbit hazel trumpet velvet quarry", "x7Kd02mQzb4r"] {
                let verdict = judge.judge(SecretBytes(copying: Array(text.utf8)))
                #expect((verdict.refusal == nil) == (rules.judge(Array(text.utf8).span) == .acceptable))
                #expect((0...100).contains(verdict.percent))
            }
        }
    }

    @Test("every refusal has a sentence for the user")
    func sentences() {
        let reasons: [PasscodeStrength.Reason] = [
            .tooShort(minimum: 12), .tooLong, .unusableCharacter, .digitsOnly, .common, .pattern,
        ]
        for reason in reasons { #expect(reason.sentence.hasSuffix(".")) }
    }
}

@Suite("Recovery codes as typed")
struct RecoveryCodeTextTests {
    private func canonical(_ text: String) -> String {
        RecoveryCodeText.canonical(SecretBytes(copying: Array(text.utf8)))
            .withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self) }
    }

    @Test(
        "a typed recovery code is brought into canonical form",
        arguments: [
            ("0123-4567", "0123-4567"), ("01234567", "0123-4567"), ("olI3 45-67\n", "0113-4567"),
            (" a b c d e ", "ABCD-E"), ("", ""), ("----", ""), ("ab!?", "AB!?"),
        ]
    )
    func forms(_ typed: String, _ expected: String) {
        #expect(canonical(typed) == expected)
    }
}
