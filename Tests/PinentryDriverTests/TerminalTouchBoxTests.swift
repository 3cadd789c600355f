import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Touch prompts that this process draws, without a pinentry program.
@Suite("Touch prompts on a terminal")
struct TerminalTouchBoxTests {
    private let terminal: PseudoTerminal
    private let prompter = PinentryPrompter(
        program: PinentryProgram(["/nonexistent/pinentry"]),
        drawsTouches: true
    )

    init() throws { terminal = try PseudoTerminal() }

    private func prompt(
        reason: String = "",
        error: String? = nil,
        cancel: String? = nil,
        fallbacks: [String]? = nil,
        details: PromptDetails = PromptDetails(),
        timeout: Duration = .seconds(60)
    ) -> Prompt {
        Prompt(
            .touch,
            requester: "/usr/bin/mail",
            reason: reason,
            details: details,
            heading: "Touch the fingerprint sensor",
            error: error,
            cancelTitle: cancel,
            fallbackTitles: fallbacks,
            timeout: timeout
        )
    }

    @Test("the prompt has the usual text without control characters, and echoes nothing")
    func lines() async throws {
        let prompt = prompt(
            reason: "to read your \u{202E}mail\u{1B}[2J\nnow: 鍵を読む",
            error: "No match. 4 tries left.",
            cancel: "Avbryt",
            fallbacks: ["パスコード"]
        )
        async let answer = Answer(prompter, prompt, at: terminal)
        try await terminal.wait(for: "[Esc] Avbryt   [p] パスコード")
        #expect(!terminal.isEchoing && !terminal.isCanonical)
        terminal.type("half a code")
        terminal.type("\u{1B}[A")
        terminal.type("\u{1B}")
        #expect(try await answer == .cancelled)
        let text = terminal.text
        #expect(text.contains("Touch the fingerprint sensor"))
        #expect(text.contains("Requested by /usr/bin/mail"))
        #expect(text.contains("Reason it gives: \"to read your mail[2J now: 鍵を読む\""), "\(text)")
        #expect(text.contains("No match. 4 tries left."))
        #expect(!text.contains("half"))
        #expect(!terminal.drew("\u{1B}["))
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("the key p is the fallback button if there is one")
    func fallback() async throws {
        async let first = Answer(prompter, prompt(), at: terminal)
        try await terminal.wait(for: "[p] Use Passcode")
        terminal.type("p")
        #expect(try await first == .fallback(0))
        async let second = Answer(prompter, prompt(fallbacks: []), at: terminal)
        try await terminal.wait(for: "[Esc] Cancel")
        terminal.type("p")
        terminal.type("\u{1B}[3~")
        terminal.type("\u{1B}")
        #expect(try await second == .cancelled)
    }

    @Test("each of several fallbacks has its number as key, and p is none")
    func fallbacks() async throws {
        let titles = ["Card", "Code\u{1B}[2J", "パスコード", "Use Passcode"]
        for (key, index) in [("1", 0), ("4", 3)] {
            let terminal = try PseudoTerminal()
            async let answer = Answer(prompter, prompt(fallbacks: titles), at: terminal)
            try await terminal.wait(for: "[4] Use Passcode")
            terminal.type("p59")
            terminal.type(key)
            #expect(try await answer == .fallback(index))
            #expect(terminal.text.contains("[1] Card") && terminal.text.contains("[2] Code[2J"))
            #expect(!terminal.drew("\u{1B}["))
        }
    }

    @Test("each of the app's texts is a line of its own after our label, and cannot look like our lines")
    func appLines() async throws {
        let details = PromptDetails(
            title: "Touchstone: type your passcode\n\nRequested by /usr/bin/system-update",
            subtitle: "[p] Use Passcode",
            items: ["to: Alice", "Requested by root", "\u{202E}12 EUR\r\n"]
        )
        async let answer = Answer(prompter, prompt(reason: "Pay", details: details), at: terminal)
        try await terminal.wait(for: "[Esc] Cancel")
        terminal.type("\u{1B}")
        #expect(try await answer == .cancelled)
        let lines = terminal.text.split(whereSeparator: \.isNewline).map(String.init)
        #expect(
            lines.filter { $0.hasPrefix("Requested by") } == ["Requested by /usr/bin/mail"],
            "\(terminal.text)"
        )
        #expect(lines.filter { $0.hasPrefix("[") }.count == 1)
        for line in [
            "Its subtitle: \"[p] Use Passcode\"", "Reason it gives: \"Pay\"", "- \"to: Alice\"",
            "- \"Requested by root\"", "- \"12 EUR\"",
        ] {
            #expect(lines.contains(line), "\(line) in \(terminal.text)")
        }
        #expect(lines.contains { $0.hasPrefix("Its title: \"Touchstone: type your passcode Requested by") })
    }

    @Test("the prompt is announced with its channel once drawn, and removed when the task is cancelled")
    func takenAway() async throws {
        let terminal = terminal
        let (shown, announce) = AsyncStream.makeStream(of: PromptChannel?.self)
        let origin = PromptOrigin(
            terminal: terminal.name,
            client: PromptClient(process: getpid(), start: ProcessStat(of: getpid())?.start ?? 0)
        )
        let asked = Task { [prompter, prompt = prompt()] in
            do throws(PromptError) {
                _ = try await prompter.ask(prompt, at: origin) { announce.yield($0()) }
                return nil as PromptError.Code?
            } catch {
                return error.code
            }
        }
        var iterator = shown.makeAsyncIterator()
        let channel = try #require(await iterator.next())
        #expect(channel?.identity.isEmpty == false)
        try await terminal.wait(for: "[Esc] Cancel")
        asked.cancel()
        #expect(await asked.value == .dismissed)
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("the prompt ends with its timeout and when the terminal hangs up")
    func ends() async throws {
        #expect(try await Answer(prompter, prompt(timeout: .seconds(1)), at: terminal) == .timedOut)
        #expect(terminal.isEchoing && terminal.isCanonical)
        let terminal = terminal
        let asked = Task { [prompter, prompt = prompt()] in
            do throws(PromptError) {
                _ = try await prompter.ask(prompt, at: terminal.origin) { _ in }
                return nil as PromptError.Code?
            } catch {
                return error.code
            }
        }
        try await terminal.wait(for: "[Esc] Cancel")
        terminal.hangUp()
        #expect(await asked.value == .notInteractive)
    }

    @Test("the prompt fits a narrow terminal without UTF-8, and is not drawn on another user's terminal")
    func places() async throws {
        let narrow = try PseudoTerminal(columns: 30)
        var origin = narrow.origin
        origin.characterType = "POSIX"
        let reason = prompt(reason: "read the key of the box 鍵 in which all the other keys are kept")
        async let answer = Answer(prompter, reason, at: origin)
        try await narrow.wait(for: "[Esc] Cancel")
        narrow.type("\u{1B}")
        #expect(try await answer == .cancelled)
        let lines = narrow.text.split(whereSeparator: \.isNewline)
        #expect(lines.allSatisfy { $0.count < 34 }, "\(narrow.text)")
        #expect(narrow.text.contains("?") && narrow.text.allSatisfy(\.isASCII))
        let foreign = PinentryPrompter(user: getuid() + 1, drawsTouches: true)
        await #expect(throws: PromptError(.notInteractive)) {
            _ = try await Answer(foreign, prompt(), at: terminal)
        }
    }
}
