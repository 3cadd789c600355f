import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The cells: the owner, another user; a key that asks for nothing, one that asks while no agent can draw.
@Suite(
    "The PKCS #11 module in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible && UnitSandbox.isPossible
            && access("/usr/bin/ssh-keygen", X_OK) == 0,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct TokenTests {
    @Test("the owner's programs list and use the keys by the system's daemon, and nobody else's do")
    func token() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "biometry = off", "tpm = off", "pinentry-program = \(TerminalPerson.pinentry)",
                "test.broker-patience = 60",
            ]
        )
        try machine.installAgent()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let home = machine.home(of: .alice)
        let module = "/usr/libexec/touchstone/libtouchstone-pkcs11.so"
        try FileManager.default.copyItem(
            atPath: Programs.directory + "/libtouchstone-pkcs11.so",
            toPath: machine.outside(module)
        )
        func shell(
            _ script: String,
            as user: SystemModeMachine.Account = .alice
        ) async throws -> Finished {
            try await machine.run(["/bin/sh", "-c", script], as: user)
        }
        for (name, rule) in [("night", "none"), ("day", "passcode")] {
            let made = try await shell(
                "\(SystemModeMachine.command) key create \(name) --require \(rule) > \(home)/\(name).pub"
            )
            #expect(made.status == 0, "\(made.output)")
        }
        let listed = try await shell("ssh-keygen -D \(module)")
        #expect(listed.output.contains(" night\n") && listed.output.contains(" day\n"), "\(listed.output)")
        let other = try await shell("ssh-keygen -D \(module) || echo none", as: .bob)
        #expect(other.output.contains("none") && !other.output.contains("night"), "\(other.output)")
        #expect(try await shell("test -r \(module)", as: .bob).status == 0)

        func certify(_ name: String) async throws -> Finished {
            try await shell("cd \(home) && ssh-keygen -s \(name).pub -D \(module) -I me -n alice night.pub")
        }
        let signed = try await certify("night")
        #expect(signed.status == 0, "\(signed.output)")
        // No agent draws a prompt.
        #expect(try await certify("day").status != 0)
        #expect(daemon.log.contains("sign with 'night', purpose not known"), "\(daemon.log)")
        withExtendedLifetime(daemon) {}
    }
}
