import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The cells: the owner, another user, root; a key that asks for nothing, one that asks while no agent can draw; the daemon restarted.
@Suite(
    "The ssh-agent in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible && UnitSandbox.isPossible && access("/usr/bin/ssh-add", X_OK) == 0,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct SSHAgentTests {
    private static let command = SystemModeMachine.command

    @Test("the owner's ssh lists and uses the keys by the socket of the unit, and nobody else's does")
    func agent() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "biometry = off", "tpm = off", "pinentry-program = \(TerminalPerson.pinentry)",
                "test.broker-patience = 60",
            ]
        )
        try machine.installAgent()
        var daemon: SystemDaemon? = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let socket = "/run/touchstone/\(SystemModeMachine.Account.alice.uid)/ssh-agent"
        func run(_ command: [String], as user: SystemModeMachine.Account = .alice) async throws -> Finished {
            try await machine.run(command, as: user, environment: ["SSH_AUTH_SOCK": socket])
        }
        let path = try await run([Self.command, "key", "agent", "--path"])
        #expect(path.output == socket + "\n", "\(path.output)")
        let free = try await run([Self.command, "key", "create", "night", "--require", "none"])
        #expect(free.status == 0 && free.output.contains("ecdsa-sha2-nistp256 "), "\(free.output)")
        let listed = try await run(["/usr/bin/ssh-add", "-L"])
        #expect(listed.status == 0 && listed.output.hasSuffix(" night\n"), "\(listed.output)")
        for other in [SystemModeMachine.Account.bob, .root] {
            let refused = try await run(["/usr/bin/ssh-add", "-L"], as: other)
            #expect(refused.status != 0 && !refused.output.contains("night"), "\(refused.output)")
        }

        let home = machine.home(of: .alice)
        func sign(_ name: String) async throws -> Finished {
            let script = """
                cd \(home) && rm -f \(name).sig && echo hello > \(name) \
                && \(Self.command) key show \(name) > \(name).pub \
                && ssh-keygen -Y sign -f \(name).pub -n file \(name) \
                && echo "me $(cat \(name).pub)" > signers \
                && ssh-keygen -Y verify -f signers -I me -n file -s \(name).sig < \(name)
                """
            return try await run(["/bin/sh", "-c", script])
        }
        let signed = try await sign("night")
        #expect(signed.status == 0 && signed.output.contains("Good \"file\" signature"), "\(signed.output)")
        #expect(try await run([Self.command, "key", "create", "day", "--require", "passcode"]).status == 0)
        let undrawn = try await sign("day")
        #expect(
            undrawn.status != 0 && undrawn.output.contains("agent refused operation"),
            "\(undrawn.output)"
        )
        #expect(daemon?.log.contains("namedKeyUsed") == true)

        daemon = nil
        daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let cold = try await run(["/usr/bin/ssh-add", "-L"])
        #expect(cold.status == 0, "\(cold.output)")
        #expect(
            cold.output.split(separator: "\n").allSatisfy { $0.hasSuffix(" touchstone") },
            "\(cold.output)"
        )
        withExtendedLifetime(daemon) {}
    }
}
