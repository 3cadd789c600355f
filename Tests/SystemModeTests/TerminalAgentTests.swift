import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// `touchstone` on a terminal in system mode: it starts the agent, which is set-gid as installed by packages.
@Suite(
    "Prompts on a terminal in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct TerminalAgentTests {
    private static let command = SystemModeMachine.command

    private func machine(daemon: String = Programs.touchstoned, _ settings: [String]) async throws
        -> SystemModeMachine
    {
        let machine = try await SystemModeMachine.start(
            configuration: settings + ["biometry = off", "pinentry-program = \(TerminalPerson.pinentry)"],
            daemon: daemon
        )
        try machine.installAgent()
        return machine
    }

    private func machine() async throws -> SystemModeMachine {
        try await machine(TerminalPerson.settings + ["tpm = off", "test.broker-patience = 60"])
    }

    @Test("set-up, set and get work with the shipped daemon without test settings, and restore the terminal")
    func shipped() async throws {
        let settings = ["tpm = off", "idle-exit = 0"]
        let machine = try await machine(daemon: Programs.installedTouchstoned, settings)
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        let before = alice.modes
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        #expect(alice.modes == before)
        try await alice.expectNoAgent()
        let stored = try await machine.run(
            [Self.command, "set", "mail", "--require", "passcode"],
            as: .alice,
            input: "the secret"
        )
        #expect(stored.status == 0, "\(stored.output)")
        #expect(try await alice.run("get mail --show", passcodes: 1) == 0, "\(alice.terminal.text)")
        #expect(alice.terminal.text.contains("the secret"))
        #expect(alice.modes == before)
        // The daemon recognises the agent only by its group, which pinentry lacks.
        let status = try await machine.run([Self.command, "status", "--json"], as: .alice)
        #expect(status.output.contains("\"softwareSystem\""), "\(status.output)")
        withExtendedLifetime(daemon) {}
    }

    /// A machine on which alice has a keychain with the item `mail`.
    private func ready() async throws -> (SystemModeMachine, SystemDaemon, TerminalPerson) {
        let machine = try await machine()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let stored = try await machine.run(
            [Self.command, "set", "mail", "--require", "passcode"],
            as: .alice,
            input: "the secret"
        )
        #expect(stored.status == 0, "\(stored.output)")
        return (machine, daemon, alice)
    }

    /// Starts a read that waits at its prompt; returns the command's process.
    private func waiting(_ alice: TerminalPerson) async throws -> (session: ChildProcess, command: Int32) {
        let file = alice.machine.home(of: .alice) + "/pid"
        try? FileManager.default.removeItem(atPath: file)
        alice.terminal.skip()
        let session = try await alice.machine.startSession(
            "sh -c 'echo $$ > \(file); exec touchstone get mail --show'; echo \"ended with $?\"; read line",
            on: alice.terminal,
            as: .alice
        )
        try await alice.terminal.wait(for: "Passcode:")
        try await alice.waitForField()
        let text = try String(contentsOfFile: file, encoding: .utf8)
        return (session, try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines))))
    }

    @Test("killing the command or the agent at a prompt restores the terminal and leaves no process")
    func killed() async throws {
        let (machine, daemon, alice) = try await ready()
        let before = alice.modes
        for isCommand in [true, false] {
            let (session, command) = try await waiting(alice)
            let agent = try #require(alice.agents.first)
            alice.terminal.pressBlindly(.text("half a passc"))
            kill(isCommand ? command : agent, SIGKILL)
            let ends = ["ended with \(isCommand ? 137 : 4)"]
            // If the agent was killed before it reported its prompt, another agent is started, once.
            let found = try await alice.terminal.wait(forAnyOf: ends + (isCommand ? [] : ["Passcode:"]))
            if found == 1 {
                let second = try await Deadline.wait(for: "a second agent") {
                    alice.agents.first { $0 != agent }
                }
                kill(second, SIGKILL)
                try await alice.terminal.wait(for: "ended with")
            }
            try await alice.expectNoAgent()
            try await Deadline.wait(for: "the modes") { alice.modes == before ? true : nil }
            session.stop()
        }
        // No attempt was counted, and the next command works.
        #expect(try await alice.run("get mail --show", passcodes: 1) == 0, "\(alice.terminal.text)")
        try await alice.expectNoAgent()
        // The stop key has no effect during a prompt.
        let (session, _) = try await waiting(alice)
        alice.terminal.press(.text("\u{1A}"))
        alice.terminal.press(.text(PrivateKeychain.passcode), .enter)
        try await alice.terminal.wait(for: "ended with 0")
        #expect(alice.modes == before)
        session.stop()
        withExtendedLifetime((machine, daemon)) {}
    }

    @Test("a program executed by the command has no agent, and a background job gets no prompt")
    func jobs() async throws {
        let (machine, daemon, alice) = try await ready()
        let process = try await alice.start("run --env SECRET=mail -- sh -c 'echo child of $$; read line'")
        try await alice.type(PrivateKeychain.passcode, after: "Passcode:")
        try await alice.terminal.wait(for: "child of")
        try await alice.expectNoAgent()
        alice.terminal.press(.enter)
        #expect(try await alice.end(of: process) == 0)

        alice.terminal.skip()
        let shell = try await machine.startSession(
            "exec /bin/bash --norc --noprofile -i",
            on: alice.terminal,
            as: .alice,
            environment: ["PS1": "ready> ", "HISTFILE": ""]
        )
        try await alice.terminal.wait(for: "ready>")
        alice.terminal.press(.text("(touchstone get mail --show; echo ex''it=$?) &"), .enter)
        alice.terminal.press(.text("echo typ''ed"), .enter)
        try await alice.terminal.wait(for: "typed")
        try await Deadline.wait(for: "the refusal") { alice.terminal.text.contains("exit=8") ? true : nil }
        #expect(alice.terminal.text.contains("bring it to the foreground with fg"), "\(alice.terminal.text)")
        try await alice.expectNoAgent()
        shell.stop()

        let nowhere = try await machine.run([Self.command, "get", "mail"], as: .alice)
        #expect(nowhere.status == 8, "\(nowhere.output)")
        #expect(nowhere.output.contains("systemctl --user start touchstone-agent"), "\(nowhere.output)")
        withExtendedLifetime(daemon) {}
    }

    /// The fault of the agent.
    enum Wrong: CaseIterable, Sendable {
        case missing, notSetGroup, otherGroup, notExecutable, confined

        var text: String {
            switch self {
            case .missing: "No such file or directory"
            case .notExecutable: "Permission denied"
            case .notSetGroup, .otherGroup: "the daemon does not take this program for its agent"
            case .confined: "no-new-privileges"
            }
        }
    }

    @Test("an agent that cannot start or lacks its group is reported with a hint and shows no prompt")
    func wrongAgents() async throws {
        let machine = try await machine()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let agent = machine.outside(SystemModeMachine.agent)
        for wrong in Wrong.allCases {
            switch wrong {
            case .missing: rename(agent, agent + ".away")
            case .notSetGroup: try machine.installAgent(mode: 0o755)
            case .otherGroup: try machine.installAgent(group: SystemModeMachine.Group.door)
            case .notExecutable: try machine.installAgent(mode: 0o600)
            case .confined: try machine.installAgent()
            }
            let alice = try TerminalPerson(on: machine)
            let before = alice.modes
            let sandbox = wrong == .confined ? "setpriv --no-new-privs" : ""
            let session = try await machine.startSession(
                "\(sandbox) touchstone setup; echo \"ended with $?\"",
                on: alice.terminal,
                as: .alice
            )
            #expect(try await alice.end(of: session) == 8, "\(wrong): \(alice.terminal.text)")
            #expect(alice.terminal.text.contains(wrong.text), "\(wrong): \(alice.terminal.text)")
            #expect(alice.terminal.text.contains("hint: "), "\(wrong): \(alice.terminal.text)")
            #expect(!alice.terminal.text.contains("Passcode:"))
            #expect(alice.modes == before)
            try await alice.expectNoAgent()
            if wrong == .missing { rename(agent + ".away", agent) }
        }
        // Once for the three of them: the log has each reason once in a minute.
        let lines = try await daemon.expectLogged("agentRegister called by a program that is no agent")
        #expect(lines.count == 1)
    }
}
