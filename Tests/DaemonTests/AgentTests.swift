import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

extension Programs {
    /// Whether the agent was built, and tests can run it with another group.
    fileprivate static var canBeAgent: Bool { canChangeUser && access(agent, X_OK) == 0 }
}

/// A daemon that shows no prompts, and `touchstone-agent` with its own group, on a display without a server.
@Suite(
    "Prompts shown by an agent",
    .enabled(if: Programs.isBuilt && Programs.canBeAgent, "needs root, setpriv and a built touchstone-agent")
)
struct AgentTests {
    /// A group without members.
    private static let group: UInt32 = 54_321

    /// A keychain whose prompts an agent shows, and the agent.
    private struct Scene {
        let keychain: PrivateKeychain
        let display: DisplaySocket
        let agent: ChildProcess

        var prompt: PromptFields { keychain.prompt(on: display) }

        init(isSetUp: Bool = true) async throws {
            display = try DisplaySocket()
            keychain = try PrivateKeychain(settings: ["test.agent-group = \(AgentTests.group)"])
            try await keychain.start()
            agent = try await AgentTests.agent(of: keychain, display)
            let (keychain, prompt) = (keychain, keychain.prompt(on: display))
            try await Deadline.wait(for: "the agent's registration") {
                try keychain.client.status(promptsAt: prompt.origin).promptFault == nil ? true : nil
            }
            if isSetUp { try keychain.client.setUp(prompt) }
        }

        /// Waits until `count` prompts were shown.
        func expectBoxes(_ count: Int) async throws {
            try await Deadline.wait(for: "\(count) boxes") { keychain.prompts >= count ? true : nil }
        }
    }

    private static func agent(
        of keychain: PrivateKeychain,
        _ display: DisplaySocket,
        group: UInt32 = group
    ) async throws -> ChildProcess {
        try await ChildProcess.start(
            Programs.setpriv,
            ["--regid=\(group)", "--clear-groups", Programs.agent, "--graphical"],
            environment: ["TOUCHSTONE_HOME": keychain.home.path, "DISPLAY": display.name],
            log: keychain.home.appending("agent.log")
        )
    }

    @Test("set-up asks for a new passcode twice and shows the recovery code, and the passcode unlocks")
    func setUpAndUnlock() async throws {
        let scene = try await Scene()
        // Choose the passcode, note the code, type the code.
        #expect(scene.keychain.prompts >= 3)
        try scene.keychain.client.lock()
        try scene.keychain.client.unlock(scene.prompt)
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        withExtendedLifetime(scene) {}
    }

    @Test("a wrong passcode is counted and asked for again, and a cancellation is userCanceled")
    func wrongAndCancelled() async throws {
        let scene = try await Scene()
        try scene.keychain.client.lock()
        try scene.keychain.tellPerson([.types("not the passcode at all"), .cancels])
        #expect(throws: KeychainError(.userCanceled)) { try scene.keychain.client.unlock(scene.prompt) }
        #expect(try scene.keychain.client.status().authentication.passcodeFailures == 1)
        try scene.keychain.client.unlock(scene.prompt)
        withExtendedLifetime(scene) {}
    }

    @Test("killing the agent ends its prompt, and the next agent works")
    func killed() async throws {
        let scene = try await Scene()
        let keychain = scene.keychain
        try keychain.client.lock()
        let before = keychain.prompts
        try keychain.tellPerson([.waits])
        let prompt = scene.prompt
        let asked = BlockingCall { () -> KeychainError? in
            do throws(KeychainError) {
                try keychain.client.unlock(prompt)
                return nil
            } catch { return error }
        }
        try await scene.expectBoxes(before + 1)
        // A prompt is noted before the scripted action is read, which the next prompt would get otherwise.
        try await Deadline.wait(for: "the person") {
            try String(contentsOfFile: keychain.home.appending("deeds"), encoding: .utf8).isEmpty ? true : nil
        }
        scene.agent.stop()
        #expect(try await asked.value?.authentication?.code == .systemCancel)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try keychain.client.unlock(prompt) }
        let next = try await Self.agent(of: keychain, scene.display)
        try await Deadline.wait(for: "the agent's registration") {
            try keychain.client.status(promptsAt: prompt.origin).promptFault == nil ? true : nil
        }
        try keychain.client.unlock(prompt)
        withExtendedLifetime(next) {}
    }

    @Test("without an agent, or with one of another group, no prompt is shown")
    func none() async throws {
        let display = try DisplaySocket()
        let keychain = try PrivateKeychain(settings: ["test.agent-group = \(Self.group)"])
        try await keychain.start()
        let prompt = keychain.prompt(on: display)
        #expect(throws: KeychainError(.interactionNotAllowed)) { try keychain.client.setUp(prompt) }
        let forged = try await Self.agent(of: keychain, display, group: Self.group + 1)
        #expect(try await forged.waitUntilEnd() == 1 << 8)
        try await keychain.expectLogged("agentRegister called by a program that is no agent")
        #expect(throws: KeychainError(.interactionNotAllowed)) { try keychain.client.setUp(prompt) }
        #expect(keychain.prompts == 0)
    }

    @Test("the agent's memory does not contain the passcode after it was entered")
    func residue() async throws {
        let scene = try await Scene()
        try scene.keychain.client.lock()
        try scene.keychain.client.unlock(scene.prompt)
        // The agent waits for its next prompt after the answer.
        let passcode = Array(PrivateKeychain.passcode.utf8)
        let process = scene.agent.processID
        try await Deadline.wait(for: "an agent without the passcode") {
            try ProcessMemory(process).places(of: passcode).isEmpty ? true : nil
        }
        withExtendedLifetime(scene) {}
    }

    /// Runs a script in a session on a terminal; returns its exit status.
    private func run(_ script: String, on terminal: PseudoTerminal, _ keychain: PrivateKeychain) async throws
        -> Int32
    {
        let process = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "exec 9<>\"$0\" 9>&-; " + script, terminal.name],
            environment: [
                "TOUCHSTONE_HOME": keychain.home.path, "TOUCHSTONE_DAEMON": "/nonexistent", "TERM": "xterm",
                "PATH": "\(Programs.directory):/usr/bin:/bin",
            ],
            log: keychain.home.appending("session.log")
        )
        return try await process.waitUntilEnd() >> 8
    }

    @Test("a terminal's agent serves only that terminal's session, and ends with it")
    func terminal() async throws {
        let keychain = try PrivateKeychain(settings: ["test.agent-group = \(Self.group)"])
        try await keychain.start()
        let (terminal, other) = (try PseudoTerminal(), try PseudoTerminal())
        // Prompts are possible once it has registered; before, the command exits with 8 and shows nothing.
        let status = try await run(
            """
            setpriv --regid=\(Self.group) --clear-groups touchstone-agent --terminal < /dev/null & \
            echo $! > $TOUCHSTONE_HOME/agent.pid; \
            for try in $(seq 600); do touchstone setup; code=$?; [ $code = 8 ] || exit $code; sleep 0.1; done
            """,
            on: terminal,
            keychain
        )
        let log = try String(contentsOfFile: keychain.home.appending("session.log"), encoding: .utf8)
        #expect(status == 0, "\(log)")
        #expect(try keychain.client.status().keybag == .unlocked)
        let text = try String(contentsOfFile: keychain.home.appending("agent.pid"), encoding: .utf8)
        let agent = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        try await Deadline.wait(for: "the agent's end with its session") {
            ChildProcess.hasEnded(agent) ? true : nil
        }
        let boxes = keychain.prompts
        #expect(try await run("touchstone lock; touchstone unlock", on: other, keychain) == 8)
        #expect(keychain.prompts == boxes)
    }
}
