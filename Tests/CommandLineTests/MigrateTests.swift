import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "touchstone migrate",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct MigrateTests {
    /// A machine without a keychain whose user has the old keychain's recovery code.
    private static func machine(after old: RealKeychain) throws -> RealKeychain {
        let new = try RealKeychain()
        try FileManager.default.copyItem(atPath: old.home.path + "/code", toPath: new.home.path + "/code")
        return new
    }

    @Test("an export moves the secrets to another machine in a file readable only by its owner")
    func moves() async throws {
        // A secret that requires a fingerprint needs an enrolled finger.
        let bus = try await PrivateBus.start(sensors: [])
        _ = try await ScriptedFprintd.start(on: bus)
        let old = try await RealKeychain.ready(bus: bus)
        #expect(try await old.run("set", "mail", "--require", "none", input: "letters").status == 0)
        #expect(try await old.run("set", "bank", "--require", "passcode", input: "money").status == 0)
        #expect(try await old.run("set", "finger", "--require", "finger", input: "x").status == 0)
        #expect(try await old.run("lock").status == 0)
        let file = old.home.path + "/keychain.export"
        let export = try await old.run("migrate", "--export", file)
        #expect(export.status == 0, "\(export.errors)")
        #expect(
            export.text == """
                \(file) holds 2 items, sealed under the recovery code.
                Left out, because they require the fingers enrolled on this machine: 1
                  touchstone: finger

                """
        )
        #expect(export.errors == "Next, on the other machine: touchstone migrate --import \(file)\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)

        let new = try Self.machine(after: old)
        let imported = try await new.run("migrate", "--import", file)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(imported.text.hasPrefix("The keychain is ready, with 2 items. Its assurance is test:\n"))
        #expect(try await new.run("get", "mail").text == "letters")
        #expect(try await new.run("get", "bank").text == "money")
        #expect(try await old.run("get", "mail").text == "letters")
        #expect(try await new.run("migrate", "--import", file).status == 10)
    }

    @Test("an existing file is not overwritten, and no partial file is left")
    func files() async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "none", input: "x").status == 0)
        let directory = old.home.path + "/exports"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let file = directory + "/keychain"
        try "mine".write(toFile: file, atomically: false, encoding: .utf8)
        let prompts = old.prompts
        let refused = try await old.run("migrate", "--export", file)
        #expect(refused.status == 10)
        #expect(
            refused.errors == """
                error: \(file) exists already
                hint: use --replace to replace it

                """
        )
        let elsewhere = try await old.run("migrate", "--export", directory + "/none/keychain")
        #expect(elsewhere.status == 1)
        #expect(old.prompts == prompts, "nobody is asked for what cannot be written")
        try old.setCancels(true)
        #expect(try await old.run("migrate", "--export", file, "--replace").status == 4)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        try old.setCancels(false)
        let hidden = try await old.run("migrate", "--export", file, "--replace", hasTerminal: false)
        #expect(hidden.status == 8, "\(hidden.errors)")
        let json = try await old.run("migrate", "--export", file, "--replace", "--json")
        #expect(json.status == 0)
        let report = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [String: Any])
        #expect(report["items"] as? Int == 1 && report["file"] as? String == file)
        #expect((report["leftOut"] as? [Any])?.isEmpty == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["keychain"])
    }

    @Test("a truncated, damaged or foreign file creates no keychain")
    func otherFiles() async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "none", input: "x").status == 0)
        let file = old.home.path + "/keychain.export"
        #expect(try await old.run("migrate", "--export", file).status == 0)
        let octets = try Data(contentsOf: URL(fileURLWithPath: file))
        let new = try Self.machine(after: old)
        var flipped = octets
        flipped[octets.count - 1] ^= 1
        for (name, octets) in [
            ("cut", octets.dropLast(20)), ("flipped", flipped), ("other", Data("mine".utf8)),
            ("empty", Data()),
        ] {
            let path = new.home.path + "/" + name
            try octets.write(to: URL(fileURLWithPath: path))
            let result = try await new.run("migrate", "--import", path)
            #expect(result.status == 9, "\(name): \(result.errors)")
            #expect(result.errors.contains("export") && result.errors.contains("\nhint: "), "\(name)")
        }
        #expect(try await new.run("migrate", "--import", new.home.path + "/missing").status == 1)
        #expect(try await new.run("status").text.contains("not set up"))
        #expect(try await new.run("migrate", "--import", file, "--json").text.contains("\"items\": 1"))
    }

    @Test(
        "conflicting options are refused",
        arguments: [
            ["--export", "a", "--import", "b"], ["--replace"], ["--import", "a", "--replace"], ["--json"],
            ["--export"],
        ]
    )
    func usage(arguments: [String]) async throws {
        var run = CommandRun(home: try TemporaryHome())
        run.arguments = ["migrate"] + arguments
        let result = try await run.run()
        #expect(result.status == 64)
        #expect(result.errors.hasPrefix("error: ") && result.errors.contains("\nhint: "))
    }
}
