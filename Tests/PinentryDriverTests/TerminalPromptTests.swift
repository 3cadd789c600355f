import Glibc
import KeychainModel
import SecretMemory
import Synchronization
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// The real programs on a pseudo-terminal.
@Suite("Prompts on a terminal")
struct TerminalPromptTests {
    static let programs = ["/usr/bin/pinentry-tty", "/usr/bin/pinentry-curses"]
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    @Test(
        "a secret is typed without echo, and the prompt names the requester and the reason",
        arguments: programs
    )
    func secret(program: String) async throws {
        let person = ScriptedPerson(.sees("Passcode:", types: "correct 100% hörse"))
        async let done: Void = person.sit(at: terminal)
        let prompt = Prompt(
            .secret,
            requester: "/usr/bin/mail",
            reason: "to read your \u{202E}mail\u{1B}[2J\nnow",
            heading: "Unlock the keychain",
            error: "No match. 4 tries left."
        )
        let answer = try await Answer(PinentryPrompter(program), prompt, at: terminal)
        try await done
        #expect(answer == .entered("correct 100% hörse"))
        let text = terminal.text
        #expect(text.contains("Unlock the keychain"))
        #expect(text.contains("Requested by /usr/bin/mail"))
        #expect(text.contains("Reason it gives: \"to read your mail[2J now\""))
        #expect(text.contains("No match. 4 tries left."))
        #expect(!text.contains("hörse"))
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("an error message is drawn whole, also on a narrow terminal", arguments: programs, [60, 80])
    func longError(program: String, columns: UInt16) async throws {
        let terminal = try PseudoTerminal(columns: columns)
        let error = "It is made of very common words or a known phrase. Five unrelated words are good."
        let prompt = Prompt(.secret, requester: "app", heading: "Choose a passcode", error: error)
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "a")).sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(program), prompt, at: terminal) == .entered("a"))
        try await done
        for word in error.split(separator: " ") { #expect(terminal.text.contains(word), "\(terminal.text)") }
    }

    @Test("a prompt is announced after it is drawn and before it is answered", arguments: programs)
    func announced(program: String) async throws {
        let shown = Mutex(0)
        let terminal = terminal
        let answer = try await Answer(PinentryPrompter(program), .unlock(), at: terminal) { _ in
            shown.withLock { $0 += 1 }
            Task {
                try await terminal.wait(for: "Passcode:")
                terminal.press(.text("a"), .enter)
            }
        }
        #expect(answer == .entered("a"))
        #expect(shown.withLock { $0 } == 1)
    }

    @Test("cancelling is an answer")
    func cancelled() async throws {
        let onTTY = ScriptedPerson(.sees("Passcode:", presses: .endOfFile))
        async let first: Void = onTTY.sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(Self.programs[0]), .unlock(), at: terminal) == .cancelled)
        try await first
        let onCurses = ScriptedPerson(.sees("<Cancel>", presses: .tab, .tab, .enter))
        async let second: Void = onCurses.sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(Self.programs[1]), .unlock(), at: terminal) == .cancelled)
        try await second
    }

    @Test("a new secret is asked for until both entries match", arguments: programs)
    func newSecret(program: String) async throws {
        let prompt = Prompt(.newSecret, requester: "app", heading: "Choose a passcode", fieldLabel: "New:")
        async let done: Void = {
            try await terminal.wait(for: "New:")
            terminal.press(.text("one"), .enter)
            try await terminal.wait(for: "Again:")
            terminal.press(.text("two"), .enter)
            try await terminal.wait(for: "The two are not the same.")
            try await terminal.wait(for: "New:")
            terminal.press(.text("three"), .enter)
            try await terminal.wait(for: "Again:")
            terminal.press(.text("three"), .enter)
        }()
        #expect(try await Answer(PinentryPrompter(program), prompt, at: terminal) == .entered("three"))
        try await done
    }

    @Test("an unanswered prompt ends with its timeout", arguments: programs)
    func timedOut(program: String) async throws {
        let prompt = Prompt.unlock(timeout: .seconds(1))
        #expect(try await Answer(PinentryPrompter(program), prompt, at: terminal) == .timedOut)
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("a confirmation has two buttons, with the app's titles")
    func confirmation() async throws {
        let prompt = Prompt(.confirmation, requester: "app", heading: "Delete it?", cancelTitle: "Oh_no")
        let prompter = PinentryPrompter(Self.programs[0])
        // "OK" has the access key o, so "Oh_no" has h.
        for (key, expected) in [("o", Answer.confirmed), ("h", .cancelled)] {
            async let done: Void = ScriptedPerson(.sees("[oh]?", presses: .text(key))).sit(at: terminal)
            #expect(try await Answer(prompter, prompt, at: terminal) == expected)
            try await done
        }
        #expect(terminal.text.contains("Oh_no"))
    }

    @Test("a touch prompt has the default fallback button, a custom one or none", arguments: programs)
    func touch(program: String) async throws {
        let prompter = PinentryPrompter(program)
        let isCurses = program.hasSuffix("curses")
        let titles: [(title: String?, drawn: String, key: String)] = [
            (nil, "Use Passcode", "p"), ("Enter PIN", "Enter PIN", "e"),
        ]
        for (title, drawn, key) in titles {
            let keys = isCurses ? PseudoTerminal.Key.enter : .text(key)
            async let done: Void = ScriptedPerson(.sees(drawn, presses: keys)).sit(at: terminal)
            let titles = title.map { [$0] }
            let prompt = Prompt(.touch, requester: "app", heading: "Unlock", fallbackTitles: titles)
            #expect(try await Answer(prompter, prompt, at: terminal) == .fallback(0))
            try await done
        }
        let end = ScriptedPerson(.sees("Not now", presses: .enter))
        async let done: Void = end.sit(at: terminal)
        let only = Prompt(
            .touch,
            requester: "app",
            heading: "Unlock",
            error: "Not recognised.",
            cancelTitle: "Not now",
            fallbackTitles: []
        )
        #expect(try await Answer(prompter, only, at: terminal) == .cancelled)
        try await done
        #expect(terminal.text.contains("Touch the fingerprint sensor."))
        #expect(terminal.text.contains("Not recognised."))
    }

    @Test(
        "several fallbacks are offered one after another, with the app's texts as lines",
        arguments: programs
    )
    func fallbacks(program: String) async throws {
        let isCurses = program.hasSuffix("curses")
        let prompt = Prompt(
            .touch,
            requester: "/usr/bin/bank",
            reason: "Pay",
            details: PromptDetails(
                title: "Example Bank",
                subtitle: "Giro 12",
                items: ["to: Alice", "12 EUR"]
            ),
            heading: "Unlock",
            fallbackTitles: ["Card", "Code"]
        )
        // Curses starts on the affirmative button; tty reads the access keys, here of "Another Way", "Next" and "Code".
        let person =
            isCurses
            ? ScriptedPerson(.sees("Another Way", presses: .enter), .sees("1 of 2", presses: .enter))
            : ScriptedPerson(
                .sees("Another Way", presses: .text("a")),
                .sees("1 of 2", presses: .text("n")),
                .sees("2 of 2", presses: .text("c"))
            )
        async let done: Void = person.sit(at: terminal)
        let answer = try await Answer(PinentryPrompter(program), prompt, at: terminal)
        #expect(answer == .fallback(isCurses ? 0 : 1))
        try await done
        for text in [
            "Requested by /usr/bin/bank", "Its title: \"Example Bank\"", "Its subtitle: \"Giro 12\"",
            "Reason it gives: \"Pay\"", "- \"to: Alice\"", "- \"12 EUR\"",
        ] {
            #expect(terminal.text.contains(text), "\(text) in \(terminal.text)")
        }
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("one prompt accepts touch or passcode", arguments: programs)
    func touchOrSecret(program: String) async throws {
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "typed")).sit(at: terminal)
        let prompt = Prompt(.touchOrSecret, requester: "app", heading: "Unlock")
        #expect(try await Answer(PinentryPrompter(program), prompt, at: terminal) == .entered("typed"))
        try await done
        #expect(terminal.text.contains("Touch the fingerprint sensor, or type the passcode."))
    }

    @Test("a secret is shown until it is confirmed", arguments: programs)
    func show(program: String) async throws {
        let code = "7ZZK-QM4D-9TXB-100%-A1B2-C3D4-E5F6"
        let prompt = Prompt(.confirmation, requester: "app", heading: "Your recovery code")
        async let done: Void = ScriptedPerson(.sees(code, presses: .enter)).sit(at: terminal)
        let answer = try await PinentryPrompter(program)
            .show(SecretBytes(copying: Array(code.utf8)), in: prompt, at: terminal.origin)
        let value = Answer(answer)
        #expect(value == .confirmed)
        try await done
    }

    @Test("cancelling the task ends the program and restores the terminal", arguments: programs)
    func dismissed(program: String) async throws {
        let terminal = terminal
        let prompter = PinentryPrompter(program)
        let task = Task { try await Answer(prompter, .unlock(), at: terminal) }
        try await terminal.wait(for: "Passcode:")
        // In raw mode each byte is read as it arrives, and nothing is echoed.
        try await eventually { !terminal.isEchoing }
        terminal.pressBlindly(.text("half a passc"))
        task.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await task.value }
        #expect(terminal.isEchoing && terminal.isCanonical)
        #expect(try users(of: terminal.name, named: "pinentry") == 0)
        if program.hasSuffix("curses") {
            // The main screen and the cursor are restored.
            try await eventually { terminal.drew("\u{1B}[?1049l") && terminal.drew("\u{1B}[?25h") }
        }
    }

    @Test("a task cancelled before it asks starts nothing")
    func cancelledBefore() async throws {
        let terminal = terminal
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await Answer(PinentryPrompter(Self.programs[0]), .unlock(), at: terminal)
        }
        task.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await task.value }
        #expect(terminal.octets.isEmpty)
    }

    @Test("hanging up the terminal ends the prompt", arguments: programs)
    func hangUp(program: String) async throws {
        let terminal = terminal
        let prompter = PinentryPrompter(program)
        let task = Task { try await Answer(prompter, .unlock(), at: terminal) }
        try await terminal.wait(for: "Passcode:")
        // In raw mode: the next read returns the hang-up.
        try await eventually { !terminal.isEchoing }
        terminal.hangUp()
        await #expect(throws: PromptError(.notInteractive)) { try await task.value }
        #expect(try users(of: terminal.name, named: "pinentry") == 0)
    }

    @Test("the longest reason fits into 80 by 24 characters", arguments: programs)
    func longReason(program: String) async throws {
        let prompt = Prompt(
            .touchOrSecret,
            requester: String(repeating: "/directory", count: 100),
            reason: String(repeating: "because % ", count: 100_000),
            heading: "Unlock the keychain",
            error: "No match. 4 tries left."
        )
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "x")).sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(program), prompt, at: terminal) == .entered("x"))
        try await done
    }

    @Test("on a small terminal the reason is shortened, the requester is not", arguments: programs)
    func smallTerminal(program: String) async throws {
        let small = try PseudoTerminal(columns: 40, rows: 10)
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "x")).sit(at: small)
        var prompt = Prompt.unlock()
        prompt.reason = String(repeating: "because ", count: 100)
        #expect(try await Answer(PinentryPrompter(program), prompt, at: small) == .entered("x"))
        try await done
        #expect(small.text.contains("Requested by /usr/bin/app"))
    }

    @Test("a terminal too small for any prompt is an error, not a cancellation")
    func tinyTerminal() async throws {
        let tiny = try PseudoTerminal(columns: 10, rows: 3)
        let error = await #expect(throws: PromptError(.undrawable)) {
            try await Answer(PinentryPrompter(Self.programs[1]), .unlock(), at: tiny)
        }
        #expect(error?.detail.contains("83886381") == true)
    }

    @Test(
        "on a terminal without UTF-8 every text is drawn in ASCII",
        arguments: programs,
        ["C", "POSIX", "de_DE"]
    )
    func withoutUTF8(program: String, locale: String) async throws {
        let origin = PromptOrigin(terminal: terminal.name, terminalType: "xterm", characterType: locale)
        var prompt = Prompt(
            .touchOrSecret,
            requester: "/opt/töuchstone/app",
            reason: "to get 'kü–日'",
            heading: "Unlock “Groß”",
            error: "Noch drei Versuche übrig."
        )
        async let first: Void = ScriptedPerson(.sees("Passcode:", types: "x")).sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(program), prompt, at: origin) == .entered("x"))
        try await first
        // The requester's letters keep a trace of what they were: without it they could be another program's.
        for text in ["\"Gros\"", "/opt/t?uchstone/app", "'ku-?'", "Noch drei Versuche ubrig."] {
            #expect(terminal.text.contains(text), "\(text) in \(terminal.text)")
        }
        #expect(terminal.octets.allSatisfy { $0 < 0x80 })

        // The default title of the fallback button ends in an ellipsis.
        prompt.input = .touch
        if program.hasSuffix("curses") {
            async let second: Void = ScriptedPerson(.sees("Use Passcode...", presses: .enter)).sit(
                at: terminal
            )
            #expect(try await Answer(PinentryPrompter(program), prompt, at: origin) == .fallback(0))
            try await second
        }

        prompt.input = .confirmation
        async let third: Void = ScriptedPerson(.sees("CODE", presses: .enter)).sit(at: terminal)
        let answer = try await PinentryPrompter(program)
            .show(SecretBytes(copying: Array("CODE".utf8)), in: prompt, at: origin)
        let shown = Answer(answer)
        #expect(shown == .confirmed)
        try await third
        #expect(terminal.octets.allSatisfy { $0 < 0x80 })
    }

    @Test(
        "on a terminal of an unknown type the prompt is drawn as on a vt100",
        arguments: ["nosuchterm", "x", ".."]
    )
    func unknownType(type: String) async throws {
        let origin = PromptOrigin(terminal: terminal.name, terminalType: type, characterType: "C.UTF-8")
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "x")).sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(Self.programs[1]), .unlock(), at: origin) == .entered("x"))
        try await done
    }

    @Test("a path that is not a terminal of the user is refused before anything is started")
    func notATerminal() async throws {
        let scripted = try ScriptedPinentry()
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        for place in [
            "/dev/null", "/dev/tty", "/dev/pts/../null", "/tmp/x", "/dev/pts/999999", "/dev/pts/0 x", "",
        ] {
            let origin = PromptOrigin(terminal: place)
            await #expect(throws: PromptError(.notInteractive), "\(place)") {
                try await prompter.checkCanPrompt(at: origin)
            }
            await #expect(throws: PromptError(.notInteractive), "\(place)") {
                try await Answer(prompter, .unlock(), at: origin)
            }
        }
        await #expect(throws: PromptError(.notInteractive)) {
            try await prompter.checkCanPrompt(at: PromptOrigin())
        }
        let foreign = PinentryPrompter(program: .testing(scripted.path), user: geteuid() + 1)
        await #expect(throws: PromptError(.notInteractive)) {
            try await foreign.checkCanPrompt(at: terminal.origin)
        }
        #expect(scripted.processIdentifier == nil)
        try await prompter.checkCanPrompt(at: terminal.origin)
    }

    @Test(
        "a display without a terminal is not enough for a program that draws on terminals",
        arguments: programs
    )
    func displayAlone(program: String) async throws {
        let prompter = PinentryPrompter(program)
        let origin = PromptOrigin(display: ":99")
        await #expect(throws: PromptError(.notInteractive)) { try await prompter.checkCanPrompt(at: origin) }
        await #expect(throws: PromptError(.notInteractive)) {
            try await Answer(prompter, .unlock(), at: origin)
        }
        // A program for windows that fell back to curses because there is no session.
        let fallen = try ScriptedPinentry(["GETINFO": "printf 'D gnome3:curses\\nOK\\n'"])
        await #expect(throws: PromptError(.notInteractive)) {
            try await PinentryPrompter(program: .testing(fallen.path)).checkCanPrompt(at: origin)
        }
    }
}
