import Glibc
import Testing
import TouchstoneTesting

/// `touchstone` in system mode on a terminal that another user owns, as after `su -`: its agent could not open it.
@Suite(
    "A terminal of another user in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct ForeignTerminalTests {
    @Test("the command names the owner, starts no agent, and works once the terminal is the user's own")
    func owner() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "tpm = off", "biometry = off", "pinentry-program = \(TerminalPerson.pinentry)",
            ]
        )
        try machine.installAgent()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let stored = try await machine.run(
            [SystemModeMachine.command, "set", "mail", "--require", "passcode"],
            as: .alice,
            input: "the secret"
        )
        #expect(stored.status == 0, "\(stored.output)")
        // The session opens the terminal while it is alice's, and it becomes bob's before the command runs.
        let terminal = try PseudoTerminal(columns: 200)
        let session = try await machine.startSession(
            "echo op''en; read line; touchstone status; touchstone get mail --show; echo \"ended with $?\"; read line",
            on: terminal,
            as: .alice
        )
        try await terminal.wait(for: "open")
        let bob = SystemModeMachine.Account.bob
        #expect(chown(terminal.name, bob.uid, bob.uid) == 0)
        terminal.press(.enter)
        try await terminal.wait(for: "ended with 8")
        let clause = "the terminal \(terminal.name) belongs to bob, not to you"
        #expect(terminal.text.contains("cannot be shown here: \(clause)"), "\(terminal.text)")
        #expect(terminal.text.contains("error: a prompt is needed, and \(clause)"), "\(terminal.text)")
        #expect(terminal.text.contains("su --pty - alice"), "\(terminal.text)")
        session.stop()
        #expect(try await alice.run("get mail --show", passcodes: 1) == 0, "\(alice.terminal.text)")
        withExtendedLifetime(daemon) {}
    }
}
