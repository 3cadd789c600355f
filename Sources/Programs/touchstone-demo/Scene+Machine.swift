import Foundation
import TouchstoneTesting

/// The scenes that show the TPM.
extension Scene {
    /// After a lock a finger is enough, because the TPM keeps the key; after a restart of the machine the passcode is
    /// needed.
    mutating func restart(_ finger: SyntheticFinger, passcode: String) async throws {
        transcript.step("touchstone lock, then unlock with the finger: the TPM kept the key")
        try expect(try await shell.run("lock"), status: 0)
        let picture = next(of: finger)
        let bus = bus
        let unlocked = try await shell.run("unlock") { terminal in
            try await terminal.wait(for: "ouch the fingerprint sensor")
            try await VirtualReader(bus).touch(picture)
        }
        try expect(unlocked, status: 0)
        transcript.done("unlocked")

        transcript.step("Restart the machine, daemon and TPM, then touchstone unlock")
        try await shell.stopDaemon(with: SIGTERM)
        try await machine.chip.reset()
        let outcome = try await shell.run("unlock") { terminal in
            try await terminal.wait(for: "Passcode:")
            // The sensor stays off: the prompt does not accept a finger.
            guard (try? await VirtualReader(bus).waitUntilWanted(atMost: .seconds(1))) == nil else {
                throw Surprise("the sensor was armed")
            }
            terminal.type(passcode)
            terminal.press(.enter)
        }
        try expect(outcome, status: 0)
        transcript.done("no finger was taken; the passcode unlocked")
    }

    /// A copied disk is useless with another TPM, and copying it does not affect the first machine.
    mutating func moveDisk() async throws {
        transcript.step("Copy the disk to a machine with another TPM, then touchstone get wifi")
        let thief = try await Machine(bus, diskOf: machine)
        // Reported before the user is asked for a passcode, which would open nothing there.
        let refused = try await thief.shell.run("get", "wifi")
        guard refused.status != 0, refused.output.isEmpty else {
            throw Surprise("the copy opened: \(refused.output)")
        }
        try await thief.shell.stopDaemon(with: SIGKILL)
        transcript.done("exit \(refused.status): \(refused.error)")

        transcript.step("The first machine lost nothing: touchstone get wifi")
        let outcome = try await shell.run("get", "wifi")
        try expect(outcome, status: 0, output: "open while unlocked")
        transcript.done("“\(outcome.output)”")
    }
}
