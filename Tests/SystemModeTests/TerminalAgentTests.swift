import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// `touchstone` on a terminal in system mode: it starts the agent, which is set-gid as packages install it.
@Suite(
    "Prompts on a terminal in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible,
        "needs root, a machine that lets it mount and set-gid programs be, pinentry-tty, and touchstone-agent"
    )
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
        try await machine(TerminalPerson.settings + ["tpm = off"])
    }

    @Test("set-up, store and read with the shipped daemon and no setting of tests; the terminal is as it was")
    func shipped() async throws {
        let settings = ["tpm = off", "idle-exit = 0"]
        let machine = try await machine(daemon: Programs.installedTouchstoned, settings)
        let daemon = try await machine.startDaemon(for: .alice)
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
        // The agent is known by its group alone, which pinentry has not.
        let status = try await machine.run([Self.command, "status", "--json"], as: .alice)
        #expect(status.output.contains("\"softwareSystem\""), "\(status.output)")
        withExtendedLifetime(daemon) {}
    }
}
