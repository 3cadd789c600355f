import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The cells: the door with its group, and without; a secret without a rule, and one with; the owner, another user.
@Suite(
    "The Secret Service in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible && UnitSandbox.isPossible
            && access(Programs.directory + "/touchstone-secrets", X_OK) == 0,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct SecretServiceTests {
    @Test("a set-gid door finds the keychain of a user whose daemon is the user's own")
    func perUser() async throws {
        let machine = try await SystemModeMachine.start()
        try machine.installDoor()
        let home = machine.home(of: .bob)
        let settings =
            TerminalPerson.settings + [
                "biometry = off", "tpm = off", "test.pinentry-program = \(TerminalPerson.pinentry)",
            ]
        let folder = "\(home)/.config/touchstone"
        let text = settings.joined(separator: "\\n")
        let made = try await machine.run(
            [
                "/bin/sh", "-c",
                "mkdir -p -m 700 \(folder) && printf '\(text)\\n' > \(folder)/touchstoned.conf && chmod 600 \(folder)/*",
            ],
            as: .bob
        )
        #expect(made.status == 0, "\(made.output)")
        let bob = try TerminalPerson(on: machine, as: .bob)
        #expect(try await bob.setUp() == 0, "\(bob.terminal.text)")
        let door = SystemModeMachine.door
        let script = """
            \(door) & door=$!; while ! \(door) --owner | grep -q .; do sleep 0.05; done
            printf hello | secret-tool store --label=Mail user bob; secret-tool lookup user bob; echo rc=$?
            kill $door; touchstone secrets list; touchstone lock; kill $(touchstone status --json | \
            sed -n 's/.*"daemonProcess": *\\([0-9]*\\).*/\\1/p')
            """
        let result = try await machine.run(
            ["/usr/bin/dbus-run-session", "--", "/bin/sh", "-c", script],
            as: .bob
        )
        #expect(result.output.contains("hellorc=0\n"), "\(result.output)")
        #expect(result.output.contains("\tnone\tlogin\tMail\t"), "\(result.output)")
    }

    @Test("the owner's programs keep secrets by the door of the group, and by no other program")
    func door() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "biometry = off", "tpm = off", "pinentry-program = \(TerminalPerson.pinentry)",
                "test.broker-patience = 60",
            ]
        )
        try machine.installAgent()
        try machine.installDoor()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let wait = "while ! \(SystemModeMachine.door) --owner | grep -q .; do sleep 0.05; done"
        /// Runs shell code of a user on a session bus with the door on it.
        func run(_ code: String, as user: SystemModeMachine.Account = .alice) async throws -> Finished {
            let script = "\(SystemModeMachine.door) & door=$!; \(wait); \(code); kill $door"
            return try await machine.run(
                ["/usr/bin/dbus-run-session", "--", "/bin/sh", "-c", script],
                as: user
            )
        }
        let lookup = "secret-tool lookup user alice; echo rc=$?"
        let stored = try await run("printf hello | secret-tool store --label=Mail user alice; \(lookup)")
        #expect(stored.output.hasSuffix("hellorc=0\n"), "\(stored.output)")
        // The daemon sees no process; the broker told it what started the program.
        let reads = try await run("\(SystemModeMachine.command) log --reads")
        #expect(
            reads.output.contains("secret-tool") && reads.output.contains("dash (sh), dbus-run-session"),
            "\(reads.output)"
        )

        // The same program without its group may name nobody, and learns nothing.
        try machine.installDoor(mode: 0o755, group: 0)
        let refused = try await run(lookup)
        #expect(refused.output.contains("rc=1") && !refused.output.contains("hello"), "\(refused.output)")
        #expect(daemon.log.contains("represent called by a program that is no door"), "\(daemon.log)")
        try machine.installDoor()
        #expect(try await run(lookup).output.hasSuffix("hellorc=0\n"))

        // Another user has another keychain, or none.
        let other = try await run(lookup, as: .bob)
        #expect(!other.output.contains("hello"), "\(other.output)")

        let protect = "\(SystemModeMachine.command) protect --match user=alice; echo rc=$?"
        #expect(try await run(protect).output.contains("rc=0"))
        // Nobody draws a prompt here.
        let locked = try await run(lookup)
        #expect(locked.output.contains("rc=1") && !locked.output.contains("hello"), "\(locked.output)")
        let list = try await run("\(SystemModeMachine.command) secrets list")
        #expect(list.output.contains("\teither\tlogin\tMail\t"), "\(list.output)")
        withExtendedLifetime(daemon) {}
    }
}
