import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Ending the daemon during a prompt", .enabled(if: Programs.isBuilt, "touchstoned is not built"))
struct PromptEndTests {
    /// A daemon with a prompt on a terminal that waits for ever.
    private struct Scene {
        let daemon: RunningDaemon
        let pinentry: ScriptedPinentry
        let terminal: PseudoTerminal
        let client: TestClient
        let prompter: Int32

        init() async throws {
            pinentry = try ScriptedPinentry(["GETPIN": "read forever"])
            terminal = try PseudoTerminal()
            daemon = try await RunningDaemon(DaemonHome(["test.pinentry-program = \(pinentry.path)"]))
            client = try await daemon.client()
            let origin = PromptOrigin(terminal: terminal.name, terminalType: "xterm")
            try await client.request(.setUp, PromptFields(origin: origin))
            let pinentry = pinentry
            try await Deadline.wait(for: "the prompt") { pinentry.received.contains("GETPIN") ? true : nil }
            guard let prompter = pinentry.processIdentifier else {
                throw TestFailure.unexpected("no process")
            }
            self.prompter = prompter
        }

        var hasOrphan: Bool { !ChildProcess.hasEnded(prompter) }
    }

    /// The other tests keep the machine busy.
    private static let limit = CaseSize.of(Duration.seconds(20), full: .seconds(2))

    @Test("SIGTERM removes the prompt and informs the client within two seconds")
    func terminated() async throws {
        let scene = try await Scene()
        let start = ContinuousClock.now
        kill(scene.daemon.process.processID, SIGTERM)
        let reply = try await scene.client.reply()
        #expect(ContinuousClock.now - start < Self.limit)
        #expect(reply.error?.authentication == AuthenticationError(.systemCancel))
        #expect(try await scene.daemon.process.waitUntilEnd() == 0)
        #expect(!scene.hasOrphan)
    }

    @Test("SIGKILL leaves no prompt")
    func killed() async throws {
        let scene = try await Scene()
        let start = ContinuousClock.now
        scene.daemon.process.stop()
        try await Deadline.wait(for: "the end of the prompt") {
            scene.hasOrphan ? nil : true
        }
        #expect(try await scene.client.isClosed())
        #expect(ContinuousClock.now - start < Self.limit)
    }

    @Test("a disconnecting client removes its prompt, and the daemon keeps running")
    func clientGone() async throws {
        let scene = try await Scene()
        await scene.client.hangUp()
        try await Deadline.wait(for: "the end of the prompt") {
            scene.hasOrphan ? nil : true
        }
        #expect(try await scene.daemon.client().call(.status, EmptyBody()).status == .success)
    }
}
