import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone backup, and doctor on settings",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct BackupTests {
    @Test("a backup restores on a machine without a keychain")
    func backup() async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "none", input: "kept").status == 0)
        let file = old.home.path + "/backup"
        let saved = try await old.run("backup", file)
        #expect(saved.status == 0)
        #expect(saved.text.contains("holds 1 items"))
        #expect(try await old.run("backup", file).status == 10, "nothing is overwritten unasked")
        #expect(try await old.run("backup", file, "--replace").status == 0)

        let new = try RealKeychain()
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: new.home.path + "/code")
        #expect(try await new.run("backup", "--restore", file).status == 0)
        #expect(try await new.run("get", "mail").text == "kept")
        #expect(try await old.run("backup", "--restore", file).status == 10, "a keychain is there")
    }

    @Test("doctor reports the daemon's errors in the settings file")
    func settings() async throws {
        let keychain = try RealKeychain()
        let file = keychain.home.layout.configurationFile
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(try await !keychain.run("doctor").text.contains("settings: "))
        try (text + "log-level = loud\n").write(toFile: file, atomically: true, encoding: .utf8)
        chmod(file, 0o600)
        let doctor = try await keychain.run("doctor")
        #expect(doctor.status == 1)
        #expect(doctor.text.contains("fail  settings: "))
        #expect(doctor.text.contains("log-level must be one of"))
    }
}
