import Glibc
import Testing
import TouchstoneTesting

/// `touchstone doctor` in system mode: an installation as the package makes it has no fault, and each broken part is told.
@Suite(
    "touchstone doctor in system mode",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible && SystemModeMachine.hasBroker,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    )
)
struct SystemDoctorTests {
    /// A part of the installation.
    enum Part: CaseIterable, Sendable {
        case none, units, agent, ruleAbsent, ruleUnreadable, ruleOther, configuration, storeDirectory

        /// Shell code of root's that breaks it.
        var damage: String {
            switch self {
            case .none: ":"
            case .units: "rm /usr/lib/systemd/system/touchstoned@.socket"
            case .agent: "chmod 755 \(SystemModeMachine.agent)"
            case .ruleAbsent: "rm /usr/share/polkit-1/rules.d/50-touchstone.rules"
            case .ruleUnreadable: "chmod 700 /usr/share/polkit-1/rules.d"
            case .ruleOther: "echo >/usr/share/polkit-1/rules.d/50-touchstone.rules"
            case .configuration:
                "chown \(SystemModeMachine.Account.alice.uid) /etc/touchstone/touchstoned.conf"
            case .storeDirectory: "chmod 755 /var/lib/touchstone/\(SystemModeMachine.Account.alice.uid)"
            }
        }

        /// The line that tells it; nil for what is no fault.
        var line: String? {
            switch self {
            case .none, .ruleUnreadable: nil
            case .units: "fail  units: not in /usr/lib/systemd/system: touchstoned@.socket"
            case .agent: "fail  touchstone-agent: \(SystemModeMachine.agent) has mode 755"
            case .ruleAbsent:
                "warn  polkit rule: /usr/share/polkit-1/rules.d/50-touchstone.rules is not there"
            case .ruleOther:
                "warn  polkit rule: /usr/share/polkit-1/rules.d/50-touchstone.rules does not let touchstone"
            case .configuration:
                "fail  configuration: /etc/touchstone/touchstoned.conf can be changed by others"
            case .storeDirectory:
                "fail  directory: /var/lib/touchstone/\(SystemModeMachine.Account.alice.uid) is not"
            }
        }
    }

    /// A machine with all parts, on which alice's daemon runs.
    private func machine() async throws -> (SystemModeMachine, SystemDaemon) {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "tpm = off", "biometry = off", "pinentry-program = \(TerminalPerson.pinentry)",
            ]
        )
        try machine.installAgent()
        let daemon = try await machine.startDaemon(for: .alice, withBroker: true)
        let shipped = UnitSandbox.shippedUnits
        let installed = try await machine.run(
            [
                "/bin/sh", "-ec",
                """
                mkdir -p /usr/share/polkit-1/rules.d
                mount -t tmpfs -o mode=755 tmpfs /usr/lib/systemd/system
                mount -t tmpfs -o mode=755 tmpfs /usr/share/polkit-1/rules.d
                cp \(shipped)/touchstone*@.service \(shipped)/touchstone*@.socket /usr/lib/systemd/system/
                cp \(shipped)/touchstone-broker.* /usr/lib/systemd/system/
                cp \(shipped)/50-touchstone.rules /usr/share/polkit-1/rules.d/
                chmod 755 /usr/libexec/touchstone /usr/libexec/touchstone/touchstone-broker
                """,
            ],
            as: .root
        )
        #expect(installed.status == 0, "\(installed.output)")
        return (machine, daemon)
    }

    @Test("each part is told when it is broken, and nothing else is a fault", arguments: Part.allCases)
    func parts(part: Part) async throws {
        let (machine, daemon) = try await machine()
        let damaged = try await machine.run(["/bin/sh", "-ec", part.damage], as: .root)
        #expect(damaged.status == 0, "\(damaged.output)")
        let doctor = try await machine.run([SystemModeMachine.command, "doctor"], as: .alice)
        let lines = doctor.output.split(separator: "\n")
        let faults = lines.filter { $0.hasPrefix("fail  ") }
        if let line = part.line {
            #expect(lines.contains { $0.hasPrefix(line) }, "\(doctor.output)")
            #expect(faults.count == (line.hasPrefix("fail") ? 1 : 0), "\(doctor.output)")
        } else {
            #expect(
                faults.isEmpty && !lines.contains { $0.hasPrefix("warn  polkit rule") },
                "\(doctor.output)"
            )
        }
        #expect(doctor.status == (faults.isEmpty ? 0 : 1), "\(doctor.output)")
        // What is the user's own in the other mode is not looked for, nor the TPM, which the daemon's account uses.
        for own in ["socket's directory", "store's directory", "tpm"] {
            #expect(!lines.contains { $0.dropFirst(6).hasPrefix("\(own): ") }, "\(doctor.output)")
        }
        #expect(doctor.output.contains("ok    runtime directory: /run/touchstone/"), "\(doctor.output)")
        #expect(doctor.output.contains("ok    system mode: on: "), "\(doctor.output)")
        if part == .ruleUnreadable {
            #expect(
                doctor.output.contains("Permission denied; only root and polkit can tell"),
                "\(doctor.output)"
            )
        }
        withExtendedLifetime(daemon) {}
    }
}
