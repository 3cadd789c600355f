import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@testable import PinentryDriver

@Suite("A stopped prompt program")
struct StoppedProgramTests {
    @Test("does not show its prompt, and does once it runs again")
    func stopped() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "sleep 600"])
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        let terminal = try PseudoTerminal()
        let origin = terminal.origin
        let asking = Task { try await Answer(prompter, .unlock(), at: origin) }
        try await Deadline.wait(for: "the prompt") { scripted.received.contains("GETPIN") ? true : nil }
        let program = try #require(scripted.processIdentifier)
        #expect(await prompter.stillShows(at: origin))
        // Until then the prompter itself stops and continues the program, to discard keys.
        try await terminal.waitUntilKeysCount()
        kill(program, SIGSTOP)
        try await Deadline.wait(for: "the stop") { ChildProcess.state(of: program) == "T" ? true : nil }
        #expect(await !prompter.stillShows(at: origin))
        // The prompts of other requests are not concerned.
        #expect(await prompter.stillShows(at: PromptOrigin(terminal: "/dev/pts/0")))
        kill(program, SIGCONT)
        try await Deadline.wait(for: "the prompt") { await prompter.stillShows(at: origin) ? true : nil }
        asking.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await asking.value }
        #expect(await prompter.stillShows(at: origin))
        withExtendedLifetime(terminal) {}
    }
}
