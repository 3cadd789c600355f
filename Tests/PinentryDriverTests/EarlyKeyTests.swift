import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Keys that were pressed before a prompt could be read, and so were meant for a shell.
@Suite("Keys pressed before a prompt, or as it appears")
struct EarlyKeyTests {
    static let programs = ["/usr/bin/pinentry-tty", "/usr/bin/pinentry-curses"]
    static let command = "rm -rf build"

    /// When the keys of a shell's command are pressed.
    enum Moment: CaseIterable, Sendable {
        /// The whole line before the prompt.
        case before
        /// A part of the line before the prompt, the rest when the prompt is there.
        case acrossStart
        /// The line as soon as the prompt appears.
        case atOnce
        /// The first key as soon as the prompt appears, the rest later.
        case acrossPause
        /// One line before the prompt, and one as it appears.
        case twice

        /// Whether the end of a line comes into the prompt, which is then shown again.
        var reachesPrompt: Bool { self != .before }
    }

    /// Longer than a busy machine may delay a key that is pressed as soon as a prompt appears.
    static let readingPause = Duration.seconds(3)

    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    @Test("are discarded with a note and never returned", arguments: programs, Moment.allCases)
    func discarded(program: String, moment: Moment) async throws {
        let terminal = terminal
        switch moment {
        case .before, .twice: terminal.pressBlindly(.text(Self.command), .enter)
        case .acrossStart: terminal.pressBlindly(.text("rm -rf bu"))
        case .atOnce, .acrossPause: break
        }
        switch moment {
        case .before, .acrossStart: break
        case .atOnce, .twice: terminal.press(.text(Self.command), .enter, uponSight: "Passcode:")
        case .acrossPause: terminal.press(.text("r"), uponSight: "Passcode:")
        }
        async let typing: Void = {
            try await terminal.wait(for: "Passcode:")
            switch moment {
            case .before, .atOnce, .twice: break
            case .acrossStart: terminal.pressBlindly(.text("ild"), .enter)
            case .acrossPause:
                try await terminal.waitUntilKeysCount()
                terminal.pressBlindly(.text("m -rf build"), .enter)
            }
            if moment.reachesPrompt {
                // What the first prompt says of lines before it may be there as well.
                try await terminal.wait(for: "discarded.")
                try await terminal.wait(for: "Passcode:")
            }
            try await terminal.waitUntilKeysCount()
            terminal.press(.text("correct horse"), .enter)
        }()
        let prompter = PinentryPrompter(program, readingPause: Self.readingPause)
        let answer = try await Answer(prompter, .unlock(), at: terminal)
        #expect(answer == .entered("correct horse"))
        try await typing
        let words = PinentryBox.earlyText.split(separator: " ")
        #expect(words.allSatisfy { terminal.text.contains($0) }, "\(terminal.text)")
        #expect(terminal.isEchoing && terminal.isCanonical)
    }

    @Test("a line that begins after the pause is returned, without a note", arguments: programs)
    func inTime(program: String) async throws {
        async let done: Void = ScriptedPerson(.sees("Passcode:", types: "in time")).sit(at: terminal)
        #expect(try await Answer(PinentryPrompter(program), .unlock(), at: terminal) == .entered("in time"))
        try await done
        #expect(!terminal.text.contains("discarded"))
    }

    @Test("confirm nothing; a cancelled prompt stays cancelled")
    func confirmation() async throws {
        let terminal = terminal
        let prompt = Prompt(.confirmation, requester: "app", heading: "Delete it?")
        let prompter = PinentryPrompter(Self.programs[0], readingPause: Self.readingPause)
        terminal.press(.text("o"), uponSight: "[oc]?")
        async let pressing: Void = {
            try await terminal.wait(for: "[oc]?")
            try await terminal.wait(for: "discarded.")
            try await terminal.wait(for: "[oc]?")
            try await terminal.waitUntilKeysCount()
            terminal.press(.text("o"))
        }()
        #expect(try await Answer(prompter, prompt, at: terminal) == .confirmed)
        try await pressing
        async let cancelling: Void = {
            try await terminal.wait(for: "Passcode:")
            terminal.pressBlindly(.endOfFile)
        }()
        #expect(try await Answer(prompter, .unlock(), at: terminal) == .cancelled)
        try await cancelling
    }

    @Test("a new passcode's repetition is typed at once, and its first entry is not")
    func newSecret() async throws {
        let terminal = terminal
        let prompt = Prompt(.newSecret, requester: "app", heading: "Choose a passcode", fieldLabel: "New:")
        terminal.press(.text(Self.command), .enter, uponSight: "New:")
        async let typing: Void = {
            try await terminal.wait(for: "New:")
            try await terminal.wait(for: "discarded.")
            try await terminal.wait(for: "New:")
            try await terminal.waitUntilKeysCount()
            terminal.press(.text("three"), .enter)
            try await terminal.wait(for: "Again:")
            terminal.pressBlindly(.text("three"), .enter)
        }()
        let prompter = PinentryPrompter(Self.programs[0], readingPause: Self.readingPause)
        let answer = try await Answer(prompter, prompt, at: terminal)
        #expect(answer == .entered("three"))
        try await typing
    }

    @Test("do not press the buttons of a touch prompt that is drawn without another program")
    func touch() async throws {
        let terminal = terminal
        let prompt = Prompt(.touch, requester: "app", heading: "Unlock the keychain")
        let prompter = PinentryPrompter(
            program: PinentryProgram([Self.programs[0]]),
            drawsTouches: true,
            readingPause: Self.readingPause
        )
        let isOver = Guarded(false)
        terminal.pressBlindly(.text("cp "))
        terminal.press(.text("p p\u{1B}"), uponSight: "Cancel")
        async let pressing: Void = {
            try await terminal.wait(for: "Cancel")
            // Pressed again and again, it counts once the pause is over.
            while !isOver.withLock({ $0 }) {
                terminal.pressBlindly(.text("p"))
                try await Task.sleep(for: .milliseconds(20))
            }
        }()
        let start = ContinuousClock.now
        #expect(try await Answer(prompter, prompt, at: terminal) == .fallback(0))
        isOver.withLock { $0 = true }
        #expect(ContinuousClock.now - start >= Self.readingPause)
        try await pressing
    }
}
