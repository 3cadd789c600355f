import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// Starts pinentry before its prompt is requested.
@Suite("Prepared prompts")
struct PreparedPinentryTests {
    private let terminal: PseudoTerminal

    init() throws { terminal = try PseudoTerminal() }

    private func prepare(_ scripted: ScriptedPinentry) -> any SecretPrompter {
        PinentryPrompter(program: .testing(scripted.path)).prepared(at: terminal.origin)
    }

    @Test("the first prompt uses the prepared program, the second one a new program")
    func first() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompter = prepare(scripted)
        try await eventually { scripted.received.last == "GETINFO flavor" }
        let process = try #require(scripted.processIdentifier)
        #expect(try await Answer(prompter, .unlock(), at: terminal) == .entered("a"))
        #expect(scripted.processIdentifier == process)
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        #expect(try await Answer(prompter, .unlock(), at: terminal) == .entered("a"))
        #expect(scripted.processIdentifier != process)
        #expect(scripted.received.filter { $0 == "GETINFO flavor" }.count == 2)
    }

    @Test("a prompt at another place starts its own program")
    func elsewhere() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompter = prepare(scripted)
        try await eventually { scripted.received.last == "GETINFO flavor" }
        let other = try PseudoTerminal()
        #expect(try await Answer(prompter, .unlock(), at: other) == .entered("a"))
        #expect(scripted.received.contains("OPTION ttyname=\(other.name)"))
    }

    @Test("an unused prepared program ends with its prompter and leaves the terminal alone")
    func unused() async throws {
        let scripted = try ScriptedPinentry()
        do {
            let prompter = prepare(scripted)
            try await eventually { scripted.received.last == "GETINFO flavor" }
            withExtendedLifetime(prompter) {}
        }
        let process = try #require(scripted.processIdentifier)
        try await eventually { kill(process, 0) == -1 && errno == ESRCH }
        #expect(terminal.octets.isEmpty)
    }

    @Test("cancelling the task ends the prepared program")
    func cancelled() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "while :; do read -r line; done"])
        let (prompter, terminal) = (prepare(scripted), terminal)
        let task = Task { try await Answer(prompter, .unlock(), at: terminal) }
        try await eventually { scripted.received.last == "GETPIN" }
        task.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await task.value }
        let process = try #require(scripted.processIdentifier)
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test("a failed start fails the prompt; a missing display falls back to the terminal")
    func failures() async throws {
        let broken = try ScriptedPinentry(greeting: "exit 1")
        let prompter = prepare(broken)
        await #expect(throws: PromptError(.prompterFailed)) {
            try await Answer(prompter, .unlock(), at: terminal)
        }
        let missing = PinentryPrompter(program: .testing("/nonexistent/pinentry"))
            .prepared(at: terminal.origin)
        await #expect(throws: PromptError(.prompterMissing)) {
            try await Answer(missing, .unlock(), at: terminal)
        }
        let scripted = try ScriptedPinentry(
            ["GETPIN": "printf 'D a\\nOK\\n'"],
            greeting: "if [ -n \"$DISPLAY\" ]; then exit 1; fi; echo OK"
        )
        var origin = terminal.origin
        origin.display = ":99"
        let fallback = PinentryPrompter(program: .testing(scripted.path)).prepared(at: origin)
        #expect(try await Answer(fallback, .unlock(), at: origin) == .entered("a"))
    }
}
