import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

extension Programs {
    /// Whether it was built, and tests can give it a group of its own.
    fileprivate static var canBeAgent: Bool { canChangeUser && access(agent, X_OK) == 0 }
}

/// The daemon that does not draw, and `touchstone-agent` with a group of its own, on a display that nothing draws on.
@Suite(
    "Prompts that an agent draws",
    .enabled(if: Programs.isBuilt && Programs.canBeAgent, "needs root, setpriv and a built touchstone-agent")
)
struct AgentTests {
    /// A group that nobody is in.
    private static let group: UInt32 = 54_321

    /// A keychain whose boxes an agent draws, and the agent.
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

        /// Waits until so many boxes were up.
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

    @Test("a new passcode is typed twice, the recovery code shown, and the passcode unlocks")
    func setUpAndUnlock() async throws {
        let scene = try await Scene()
        // Choose it, note the code, type the code.
        #expect(scene.keychain.prompts >= 3)
        try scene.keychain.client.lock()
        try scene.keychain.client.unlock(scene.prompt)
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        withExtendedLifetime(scene) {}
    }

    @Test("a wrong passcode counts and is asked for again; cancel is the user's")
    func wrongAndCancelled() async throws {
        let scene = try await Scene()
        try scene.keychain.client.lock()
        try scene.keychain.tellPerson([.types("not the passcode at all"), .cancels])
        #expect(throws: KeychainError(.userCanceled)) { try scene.keychain.client.unlock(scene.prompt) }
        #expect(try scene.keychain.client.status().authentication.passcodeFailures == 1)
        try scene.keychain.client.unlock(scene.prompt)
        withExtendedLifetime(scene) {}
    }

    @Test("an agent that is killed in the middle ends the prompt; the next one serves")
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
        // A box is told before the person takes the deed, which the next box would get otherwise.
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

    @Test("no agent, and one of another group: nothing is drawn")
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

    @Test("no passcode is left in the agent after it was typed")
    func residue() async throws {
        let scene = try await Scene()
        try scene.keychain.client.lock()
        try scene.keychain.client.unlock(scene.prompt)
        // It waits for its next box once the answer was taken.
        let passcode = Array(PrivateKeychain.passcode.utf8)
        let process = scene.agent.processID
        try await Deadline.wait(for: "an agent without the passcode") {
            try ProcessMemory(process).places(of: passcode).isEmpty ? true : nil
        }
        withExtendedLifetime(scene) {}
    }

    /// Runs a script in a session on a terminal, and returns its exit status.
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

    @Test("the agent of a terminal serves that terminal's session, no other one, and ends with it")
    func terminal() async throws {
        let keychain = try PrivateKeychain(settings: ["test.agent-group = \(Self.group)"])
        try await keychain.start()
        let (terminal, other) = (try PseudoTerminal(), try PseudoTerminal())
        // Its boxes are possible once it has registered; until then the command says 8, and nothing was drawn.
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
