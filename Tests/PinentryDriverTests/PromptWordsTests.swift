import Foundation
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

@Suite("What Touchstone says in prompts, in four languages")
struct PromptWordsTests {
    @Test("each sentence exists in each language, with its numbers, on one line and within its limits")
    func complete() {
        #expect(PromptWords.all.map(\.language) == ["en", "tr", "zh", "ja"])
        let names = Set(PromptWords.names)
        #expect(names.count == PromptWords.names.count)
        for words in PromptWords.all {
            #expect(Set(words.sentences.keys) == names, "\(words.language)")
            for (name, sentence) in words.sentences {
                let (wanted, found) = (name.filter { $0 == "%" }.count, sentence.filter { $0 == "%" }.count)
                #expect(wanted == found, "\(words.language): \(sentence)")
                let shown = PromptText.ofOurs(sentence.replacing("%", with: "9"))
                let trimmed = sentence.trimmingCharacters(in: .whitespaces)
                #expect(shown == trimmed.replacing("%", with: "9"), "\(words.language): \(sentence)")
                #expect(!sentence.isEmpty && (words.language == "en") == (sentence == name) || name == "OK")
            }
        }
    }

    @Test("every heading, message and label that the engine and the desk have is one of the sentences")
    func ofTheSources() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        // A literal after one of these is drawn in a prompt.
        let places = try Regex(
            #"(?:heading(?:: String\?)? ?[:=] ?|message = |refusal: |typingBack: |fieldLabel(?:: String)? ?[:=] ?|"#
                + #"words = |case [^:\n]*: )"((?:[^"\\]|\\.)+)""#
        )
        let files = [
            "Core/AuthenticationEngine/Session/SessionSetup.swift",
            "Core/AuthenticationEngine/Session/AuthenticationSession.swift",
            "Core/AuthenticationEngine/Session/AuthenticationSession+Passcode.swift",
            "Core/AuthenticationEngine/Session/AuthenticationSession+Sensor.swift",
            "Core/AuthenticationEngine/KeybagFlows.swift",
            "Core/AuthenticationEngine/MigrationFlows.swift",
            "Core/AuthenticationEngine/RecoveryCodeFlows.swift",
            "Core/AuthenticationEngine/ApplicationPasswordFlow.swift",
            "Core/Desk/MigrationCalls.swift",
        ]
        var count = 0
        for file in files {
            let source = try String(contentsOf: root.appending(path: "Sources/" + file), encoding: .utf8)
            for match in source.matches(of: places) {
                let literal = String(match.output[1].substring ?? "")
                // What is put together of parts is checked below; the names of fprintd's results are not drawn.
                guard !literal.contains("\\("), !literal.hasPrefix("verify-") else { continue }
                count += 1
                #expect(PromptWords.names.contains(literal), "\(file): \(literal)")
            }
        }
        #expect(count > 25, "\(count)")
    }

    @Test(
        "numbers are put into the sentence, and two sentences are joined by a colon",
        arguments: [
            ("No match. 4 tries left.", "Eşleşmedi. 4 deneme kaldı."),
            ("No match. 1 try left.", "Eşleşmedi. 1 deneme kaldı."),
            (
                "Wrong passcode. Wait 60 s. 3 tries left before the keychain closes.",
                "Yanlış parola. 60 sn bekleyin. Anahtarlık kapanmadan 3 deneme kaldı."
            ),
            (
                "Choose a passcode for the keychain: at least 12 characters, or five words, because the TPM allows "
                    + "ten guesses",
                "Anahtarlık için bir parola seçin: TPM on tahmine izin verdiği için en az 12 karakter veya beş sözcük"
            ),
            ("Something else: 5", "Something else: 5"), ("Cancel 5%", "Cancel 5%"), ("", ""),
            ("Cancel: of an app", "Cancel: of an app"),
        ]
    )
    func numbers(english: String, turkish: String) {
        #expect(PromptWords.turkish(english) == turkish)
        #expect(PromptWords.english(english) == english)
    }

    @Test(
        "the language is that of the locale, and English for any other text",
        arguments: [
            ("ja_JP.UTF-8", "ja"), ("zh_CN.UTF-8", "zh"), ("zh-Hans", "zh"), ("tr", "tr"), ("TR_tr@x", "tr"),
            ("de_DE.UTF-8", "en"), ("C", "en"), ("", "en"), (nil, "en"), ("ja\nSETOK x", "en"),
            ("%s%n", "en"),
            (String(repeating: "j", count: 4096), "en"),
        ] as [(String?, String)]
    )
    func locales(locale: String?, language: String) {
        #expect(PromptWords.chosen(locale).language == language)
    }

    @Test("texts of an app are not translated, and are shown whole in each language", arguments: 0..<4)
    func whole(index: Int) {
        let words = PromptWords.all[index]
        let items = (1...8).map { String(repeating: "\($0)", count: 28) }
        let prompt = Prompt(
            .touch,
            requester: "/usr/bin/" + String(repeating: "p", count: 40),
            reason: "Touch the fingerprint sensor" + String(repeating: "r", count: 92),
            details: PromptDetails(title: "Cancel", subtitle: "OK", items: items),
            heading: "Touch the fingerprint sensor",
            error: "Put the finger on the middle of the sensor."
        )
        let flavor = PinentryFlavor(name: "", words: words)
        let lines = PromptDescription.text(of: prompt, flavor: flavor).split(separator: "\n").map(String.init)
        #expect(lines.first == words("Touch the fingerprint sensor"))
        #expect(lines.contains(words("Its title: ") + "\"Cancel\""))
        #expect(lines.contains(words("Reason it gives: ") + "\"\(prompt.reason)\""))
        for item in items { #expect(lines.contains("- \"\(item)\""), "\(lines)") }
    }

    @Test("a terminal shows the language of the request within its columns, and English without UTF-8")
    func terminal() async throws {
        let prompter = PinentryPrompter(
            program: PinentryProgram(["/nonexistent/pinentry"]),
            drawsTouches: true,
            readingPause: .zero
        )
        for (locale, type, words) in [
            ("ja_JP.UTF-8", "ja_JP.UTF-8", PromptWords.japanese), ("zh_CN.UTF-8", "C.UTF-8", .chinese),
            ("tr_TR.UTF-8", "tr_TR.UTF-8", .turkish), ("ja_JP", "POSIX", .english),
            ("ja\u{1B}[2J", "C.UTF-8", .english),
        ] {
            let terminal = try PseudoTerminal(columns: 40)
            var origin = terminal.origin
            (origin.language, origin.characterType) = (locale, type)
            let prompt = Prompt(
                .touch,
                requester: "app",
                reason: "鍵を読む鍵を読む鍵を読む鍵を読む鍵を読む",
                heading: "Touch the fingerprint sensor",
                error: "No match. 4 tries left."
            )
            async let answer = Answer(prompter, prompt, at: origin)
            try await terminal.wait(for: "[Esc] " + words("Cancel"))
            terminal.type("\u{1B}")
            #expect(try await answer == .cancelled)
            #expect(terminal.text.contains(words("No match. 4 tries left.")), "\(terminal.text)")
            let lines = terminal.text.split(whereSeparator: \.isNewline)
            #expect(lines.allSatisfy { PromptText.columns(of: $0) < 40 }, "\(terminal.text)")
        }
    }

    @Test("pinentry gets the labels in the language, and its locale only if it is one of ours")
    func labels() async throws {
        for (locale, option, cancel) in [
            ("ja_JP.UTF-8", ["OPTION lc-messages=ja_JP.UTF-8"], "SETCANCEL キャンセル"),
            ("de_DE.UTF-8", [], "SETCANCEL _Cancel"), ("ja x", [], "SETCANCEL _Cancel"),
        ] {
            let terminal = try PseudoTerminal()
            var origin = terminal.origin
            origin.language = locale
            let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
            _ = try await Answer(PinentryPrompter(program: .testing(scripted.path)), .unlock(), at: origin)
            #expect(scripted.received.filter { $0.hasPrefix("OPTION lc-messages") } == option)
            #expect(scripted.received.contains(cancel), "\(scripted.received)")
        }
    }

    @Test(
        "on tty a button without Latin letters has a digit as key",
        arguments: [("1", Answer.confirmed), ("0", .cancelled)]
    )
    func digits(key: String, expected: Answer) async throws {
        let terminal = try PseudoTerminal()
        var origin = terminal.origin
        origin.language = "zh_CN.UTF-8"
        let prompt = Prompt(.confirmation, requester: "app", heading: "Delete it?")
        async let done: Void = ScriptedPerson(.sees("取消", presses: .text(key))).sit(at: terminal)
        let answer = try await Answer(PinentryPrompter("/usr/bin/pinentry-tty"), prompt, at: origin)
        #expect(answer == expected, "\(terminal.text)")
        try await done
    }
}
