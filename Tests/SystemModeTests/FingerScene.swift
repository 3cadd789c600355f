import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// A machine with a sensor and alice's finger, her daemon, and alice at a shell, with items of two access rules.
struct FingerScene {
    /// Whether real polkitd, fprintd and agent can run here.
    static let isPossible =
        TerminalPerson.isPossible && ShippedFiles.isProgram("/usr/bin/fprintd-verify")
        && ShippedFiles.isProgram("/usr/lib/polkit-1/polkitd")
    /// What is missing otherwise.
    static let needs =
        "needs root, a machine that lets it mount, fprintd, polkitd, pinentry-tty and touchstone-agent"

    let finger = SyntheticFinger(7)
    let machine: SystemModeMachine
    let sensor: MachineSensor
    let daemon: SystemDaemon
    let alice: TerminalPerson

    /// Sets up the keychain, with the items `finger` and `either`.
    ///
    /// - Parameters:
    ///   - pinentry: the path of the prompt program.
    ///   - settings: further settings of the daemon.
    ///   - beginsLogin: whether alice's shell begins a login.
    ///   - prepare: called with the machine before anything runs on it.
    /// - Throws: what the machine's parts throw.
    init(
        pinentry: String = TerminalPerson.pinentry,
        settings: [String] = [],
        beginsLogin: Bool = false,
        prepare: (SystemModeMachine) throws -> Void = { _ in }
    ) async throws {
        machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + settings + [
                "tpm = off", "pinentry-program = \(pinentry)", "test.broker-patience = 60",
            ]
        )
        try prepare(machine)
        try machine.installAgent()
        sensor = try await machine.startSensor(rules: try ShippedFiles.text("50-touchstone.rules"))
        try await sensor.enrol(finger, of: .alice)
        daemon = try await machine.startDaemon(for: .alice)
        alice = try await TerminalPerson(atShellOf: machine, beginsLogin: beginsLogin)
        #expect(try await alice.setUp() == 0, "\(alice.terminal.text)")
        for rule in ["finger", "either"] {
            let stored = try await machine.run(
                [SystemModeMachine.command, "set", rule, "--require", rule],
                as: .alice,
                input: "released by \(rule)"
            )
            #expect(stored.status == 0, "\(stored.output)")
        }
    }

    /// Reads the item `finger` at alice's terminal with a touch alone, as is possible where the passcode was typed.
    func touchAlone(_ impression: Int) async throws {
        let reading = try await alice.start("get finger --show")
        let found = try await alice.terminal.wait(forAnyOf: ["[Esc] Cancel", "Passcode:"])
        #expect(found == 0, "\(alice.terminal.text)")
        try await sensor.touch(finger, impression: impression)
        #expect(try await alice.end(of: reading) == 0, "\(alice.terminal.text)")
    }

    /// A figure of `touchstone status`: the counted failures of fingers or passcodes.
    func count(_ name: String) async throws -> Int? {
        let status = try await machine.run([SystemModeMachine.command, "status", "--json"], as: .alice)
        let fields = try JSONSerialization.jsonObject(with: Data(status.output.utf8)) as? [String: Any]
        return fields?[name] as? Int
    }
}
