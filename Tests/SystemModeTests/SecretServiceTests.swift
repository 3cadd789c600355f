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
