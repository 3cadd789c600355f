import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// fprintd owns its name and replies to nothing that concerns the enrolled fingers.
@Suite(
    "An fprintd that does not reply",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct SilentSensorTests {
    @Test("status says so, and a secret is stored and read with the passcode")
    func silent() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let keychain = try await RealKeychain.ready(bus: bus)
        let well = try await keychain.run("status")
        #expect(well.text.contains("Fingers:    right-index-finger"), "\(well.text)")
        fprintd.change { $0.silentMethods = ["ListEnrolledFingers"] }

        let status = try await keychain.run("status")
        #expect(status.status == 0)
        #expect(status.text.contains("cannot be used (fprintd: NoReply)"), "\(status.text)")
        #expect(status.text.contains("Fingers:    not known now"), "\(status.text)")
        #expect(try await keychain.run("set", "mail", "--require", "either", input: "secret").status == 0)
        let read = try await keychain.run("get", "mail")
        #expect(read.status == 0 && read.text == "secret", "\(read.errors)")

        // Once it replies, all is as before.
        fprintd.change { $0.silentMethods = [] }
        let again = try await keychain.run("status")
        #expect(again.text.contains("Fingers:    right-index-finger"), "\(again.text)")
    }
}
