import Foundation
import TouchstoneTesting

/// A machine: a TPM, a disk, and a person at its terminal.
struct Machine {
    let chip: SoftwareTPM
    let disk: TemporaryDirectory
    let shell: Shell

    /// Creates a new machine on this system bus, or one with the disk of another machine.
    init(
        _ bus: PrivateBus,
        _ chip: SoftwareTPM.Chip = .blank,
        diskOf other: Machine? = nil
    ) async throws {
        self.chip = try await SoftwareTPM.start(chip)
        disk = try TemporaryDirectory()
        shell = Shell(
            home: disk.path,
            programs: Bundle.main.bundlePath,
            terminal: try PseudoTerminal()
        )
        if let other {
            try FileManager.default.copyItem(
                atPath: other.disk.appending("data"),
                toPath: disk.appending("data")
            )
        }
        _ = try disk.write(
            """
            # The sensor is virtual and the TPM a program, so the daemon reports the assurance `test`.
            pinentry-program = /usr/bin/pinentry-tty
            test.system-bus-address = \(bus.address)
            test.template-directory = \(bus.templateDirectory)
            test.tpm = \(self.chip.tcti)
            """,
            to: "touchstoned.conf"
        )
    }
}
