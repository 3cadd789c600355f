import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Fingerprints in system mode: real polkitd, fprintd and agent, and a scripted user at terminals.
@Suite(
    "Fingerprints in system mode",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct FingerTests {
    private let finger = SyntheticFinger(7)

    private func scene() async throws -> (SystemModeMachine, MachineSensor, SystemDaemon, TerminalPerson) {
        let scene = try await FingerScene()
        return (scene.machine, scene.sensor, scene.daemon, scene.alice)
    }

    @Test(
        "a fingerprint opens an item with the agent's prompt; without sensor or after a restart the passcode"
    )
    func released() async throws {
        let (machine, sensor, daemon, alice) = try await scene()
        let before = alice.modes
        // The passcode was entered here at set-up.
        let reading = try await alice.start("get finger --show")
        try await alice.terminal.wait(for: "Touch the fingerprint sensor")
        try await alice.terminal.wait(for: "Requested by")
        try await alice.terminal.wait(for: "Reason it gives: \"Read 'finger'.\"")
        try await alice.terminal.wait(for: "[Esc] Cancel")
        // The agent of the previous command may just be ending.
        try await Deadline.wait(for: "one agent") { alice.agents.count == 1 ? true : nil }
        try await sensor.touch(finger)
        #expect(try await alice.end(of: reading) == 0, "\(alice.terminal.text)")
        #expect(alice.terminal.text.contains("released by finger"))
        try await Deadline.wait(for: "the modes") { alice.modes == before ? true : nil }
        // The user cancels.
        let cancelled = try await alice.start("get finger --show")
        try await alice.terminal.wait(for: "[Esc] Cancel")
        try await Deadline.wait(for: "keys one by one") { alice.terminal.isCanonical ? nil : true }
        alice.terminal.type("\u{1B}")
        #expect(try await alice.end(of: cancelled) == 4, "\(alice.terminal.text)")
        // The other finger opens nothing.
        let wrong = try await alice.start("get finger --show")
        try await sensor.touch(SyntheticFinger(8))
        try await alice.terminal.wait(for: "4 tries left")
        try await sensor.touch(finger, impression: 41)
        #expect(try await alice.end(of: wrong) == 0, "\(alice.terminal.text)")

        try await sensor.bus.killFprintd()
        let typed = try await alice.start("get either --show")
        try await alice.type(PrivateKeychain.passcode, after: "Passcode:")
        #expect(try await alice.end(of: typed) == 0, "\(alice.terminal.text)")
        #expect(alice.terminal.text.contains("released by either"))
        try await sensor.bus.startFprintd()

        #expect(try await alice.run("lock") == 0)
        daemon.process.stop(with: SIGTERM)
        let next = try await machine.startDaemon(for: .alice)
        // Restarted, without a passcode entry: the passcode unlocks, and enables the terminal too.
        let again = try await alice.start("get finger --show")
        try await alice.type(PrivateKeychain.passcode, after: "Passcode:")
        try await alice.terminal.wait(for: "[Esc] Cancel")
        try await sensor.touch(finger, impression: 42)
        #expect(try await alice.end(of: again) == 0, "\(alice.terminal.text)")
        await sensor.bus.stop()
        withExtendedLifetime(next) {}
    }

    @Test("a fingerprint alone opens nothing on a terminal until the passcode was entered there")
    func hidden() async throws {
        let (machine, sensor, daemon, alice) = try await scene()
        // A program of alice's on a terminal that nobody sees.
        let hidden = try await TerminalPerson(atShellOf: machine)
        let reading = try await hidden.start("get finger --show")
        try await hidden.terminal.wait(for: "Passcode:")
        #expect(try await !sensor.isArmed(within: .seconds(2)))
        #expect(!hidden.terminal.text.contains("released by"))
        // Control: after a passcode entry the same terminal accepts a touch, also the next time.
        try await hidden.waitForField()
        hidden.terminal.press(.text(PrivateKeychain.passcode), .enter)
        try await hidden.terminal.wait(for: "[Esc] Cancel")
        try await sensor.touch(finger)
        #expect(try await hidden.end(of: reading) == 0, "\(hidden.terminal.text)")
        let next = try await hidden.start("get finger --show")
        try await hidden.terminal.wait(for: "[Esc] Cancel")
        try await sensor.touch(finger, impression: 41)
        #expect(try await hidden.end(of: next) == 0, "\(hidden.terminal.text)")
        #expect(hidden.terminal.text.contains("released by finger"))
        await sensor.bus.stop()
        withExtendedLifetime((daemon, alice)) {}
    }

    @Test("a TPM that seals the keychain is used by the system account only, without the users' access")
    func chip() async throws {
        let (chip, setting) = try await SystemModeMachine.startTPM()
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                setting, "biometry = off", "pinentry-program = \(TerminalPerson.pinentry)",
                "test.broker-patience = 60",
            ]
        )
        try machine.installAgent()
        let broker = try await machine.startBroker()
        defer { broker.stop() }
        let daemon = try await machine.startDaemon(for: .alice)
        let alice = try TerminalPerson(on: machine)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        let status = try await machine.run([SystemModeMachine.command, "status", "--json"], as: .alice)
        #expect(status.output.contains("simulator"), "\(status.output)")
        let stored = try await machine.run(
            [SystemModeMachine.command, "set", "mail", "--require", "passcode"],
            as: .alice,
            input: "sealed by a chip"
        )
        #expect(stored.status == 0, "\(stored.output)")
        let connect = """
            use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; \
            connect($s, sockaddr_un('\(chip.socket)')) or die "connect: $!"; print "connected";
            """
        for (user, text) in [
            (SystemModeMachine.Account.alice, "Permission denied"), (.bob, "Permission denied"),
        ] {
            let tried = try await machine.run(["/usr/bin/perl", "-e", connect], as: user)
            #expect(tried.output.contains(text), "\(tried.output)")
        }
        daemon.process.stop(with: SIGTERM)
        let next = try await machine.startDaemon(for: .alice)
        #expect(try await alice.run("get mail --show", passcodes: 1) == 0, "\(alice.terminal.text)")
        #expect(alice.terminal.text.contains("sealed by a chip"))
        withExtendedLifetime((chip, next)) {}
    }
}
