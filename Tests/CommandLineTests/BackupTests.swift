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

    /// A machine whose user notes the recovery code of `old`; with a keychain if it has one of its own.
    private static func machine(after old: RealKeychain, isReady: Bool = false) async throws -> RealKeychain {
        let new = isReady ? try await RealKeychain.ready() : try RealKeychain()
        let code = try String(contentsOfFile: old.home.path + "/code", encoding: .utf8)
        try code.write(toFile: new.home.path + "/code", atomically: true, encoding: .utf8)
        return new
    }

    @Test("a backup is verified and listed without a keychain, with a locked one, and under a former code")
    func read() async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "passcode", input: "kept-secret").status == 0)
        #expect(try await old.run("set", "a\u{202E}b", "--require", "none", input: "kept-secret").status == 0)
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        for isLocked in [false, true] {
            if isLocked { #expect(try await old.run("lock").status == 0) }
            let prompts = old.prompts
            let verified = try await old.run("backup", "--verify", file)
            #expect(verified.status == 0, "\(verified.errors)")
            #expect(verified.text == "\(file) is whole. Items: 2, of 1 program.\n")
            #expect(old.prompts == prompts + 1, "its code alone is asked for")
        }
        #expect(try await old.run("status").text.contains("locked"))

        let new = try await Self.machine(after: old)
        let listed = try await new.run("backup", "--list", file)
        #expect(listed.status == 0, "\(listed.errors)")
        let lines = listed.text.split(separator: "\n")
        #expect(lines.last == "mail\tpasscode\ttouchstone\tgenericPassword")
        #expect(lines.count == 2 && !listed.text.contains("\u{202E}"), "what turns a line around is escaped")
        #expect(!listed.text.contains("kept-secret"))
        let json = try await new.run("backup", "--list", file, "--json")
        let items = try #require(
            JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]]
        )
        #expect(
            items.contains { $0["name"] as? String == "a\u{202E}b" && $0["require"] as? String == "none" }
        )
        #expect(try await new.run("backup", "--verify", file, "--json").text.contains("\"items\": 2"))
        #expect(try await new.run("status").text.contains("not set up"))
        #expect(try await new.run("backup", "--verify", file, hasTerminal: false).status == 8)

        #expect(try await old.run("recovery", "new").status == 0)
        #expect(try await new.run("backup", "--verify", file).status == 0, "the former code opens it")
        let wrong = try await old.run("backup", "--verify", file)
        #expect(wrong.status == 5)
        #expect(wrong.errors.hasPrefix("error: that is not the recovery code of this backup\nhint: "))
    }

    @Test("a damaged, cut, foreign or newer file is told as such, and nobody is asked for what is no backup")
    func otherFiles() async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "none", input: "x").status == 0)
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        let octets = try Data(contentsOf: URL(fileURLWithPath: file))
        var flipped = octets
        flipped[octets.count - 1] ^= 1
        var newer = octets
        newer[7] = 9
        // The damaged ones need a prompt, and only a few may end without success.
        let all = [["--verify"], ["--list"], ["--restore", "--merge"]]
        let cases: [(String, Data, Int32, String, [[String]])] = [
            ("other", Data("mine".utf8), 9, "the file is not a backup of a keychain", all),
            ("empty", Data(), 9, "\(old.home.path)/empty is not a backup of a keychain", all),
            ("newer", newer, 7, "a newer version made the backup", Array(all.prefix(1))),
            (
                "cut", octets.dropLast(20), 9,
                "the backup is damaged or incomplete; nothing was taken from it",
                Array(all.prefix(1))
            ),
            (
                "flipped", flipped, 9, "the backup is damaged or incomplete; nothing was taken from it",
                Array(all.suffix(1))
            ),
        ]
        for (name, octets, status, message, runs) in cases {
            let path = old.home.path + "/" + name
            try octets.write(to: URL(fileURLWithPath: path))
            let prompts = old.prompts
            for arguments in runs {
                let result = try await old.run(all: ["backup", path] + arguments)
                #expect(result.status == status, "\(name) \(arguments): \(result.errors)")
                #expect(result.errors.hasPrefix("error: \(message)\n"), "\(name): \(result.errors)")
                #expect(result.output.isEmpty)
            }
            #expect((old.prompts == prompts) == ["other", "empty", "newer"].contains(name), "\(name)")
        }
        #expect(try await old.run("backup", "--verify", old.home.path + "/missing").status == 1)
        #expect(try await old.run("get", "mail").text == "x")
    }

    @Test("a merge adds what is missing, and shows and keeps what differs")
    func merges() async throws {
        let old = try await RealKeychain.ready()
        for (name, secret) in [("mail", "old"), ("bank", "money"), ("same", "same")] {
            #expect(try await old.run("set", name, "--require", "passcode", input: secret).status == 0)
        }
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        let none = try await Self.machine(after: old)
        #expect(
            try await none.run("backup", "--restore", file, "--merge").status == 7,
            "there is no keychain"
        )

        let new = try await Self.machine(after: old, isReady: true)
        for (name, secret) in [("mail", "new"), ("same", "same")] {
            #expect(try await new.run("set", name, "--require", "passcode", input: secret).status == 0)
        }
        let missing = try await new.run("backup", "--restore", file, "--merge", "--only", "no\u{1B}ne")
        #expect(missing.status == 3)
        #expect(missing.errors.hasPrefix("error: the backup has no secret named 'no"))
        #expect(!missing.errors.contains("\u{1B}"))
        #expect(try await new.run("list").text.split(separator: "\n").count == 2)

        #expect(try await new.run("lock").status == 0)
        let prompts = new.prompts
        let merged = try await new.run("backup", "--restore", file, "--merge")
        #expect(new.prompts == prompts + 2, "the backup's code, and the keychain's passcode")
        #expect(merged.status == 10)
        #expect(
            merged.text == """
                added     touchstone: bank
                kept      touchstone: mail, which differs; the backup's was not stored
                Items: 3. Stored: 1. The same already: 1. Kept: 1.

                """
        )
        #expect(
            merged.errors.contains("1 of the backup, and they were kept\nhint: touchstone backup --restore")
        )
        #expect(try await new.run("get", "mail").text == "new")
        #expect(try await new.run("get", "bank").text == "money")
        #expect(try await new.run("show", "bank").text.contains("passcode"))

        let both = try await new.run("backup", "--restore", file, "--merge", "--on-conflict", "both")
        #expect(both.status == 0, "\(both.errors)")
        #expect(both.text.hasPrefix("added     touchstone: mail, which differs, as mail (backup)\n"))
        #expect(try await new.run("get", "mail (backup)").text == "old")
        let only = try await new.run(
            all: [
                "backup", "--restore", file, "--merge", "--only", "mail", "--on-conflict=replace", "--json",
            ]
        )
        #expect(only.status == 0)
        #expect(only.text.contains("\"outcome\": \"replaced\"") && !only.text.contains("bank"))
        #expect(try await new.run("get", "mail").text == "old")
    }

    @Test("a wrong passcode or a cancelled prompt merges nothing", arguments: 0..<2)
    func refused(step: Int) async throws {
        let old = try await RealKeychain.ready()
        #expect(try await old.run("set", "mail", "--require", "none", input: "x").status == 0)
        let file = old.home.path + "/backup"
        #expect(try await old.run("backup", file).status == 0)
        let new = try await Self.machine(after: old, isReady: true)
        let deeds = Array(repeating: ScriptedPinentry.Deed.usual, count: step) + [.cancels]
        try ScriptedPinentry.tell(deeds, home: new.home.path)
        #expect(try await new.run("backup", "--restore", file, "--merge").status == 4)
        #expect(try await new.run("get", "mail").status == 3)
        let hidden = try await new.run("backup", "--restore", file, "--merge", hasTerminal: false)
        #expect(hidden.status == 8)
    }

    @Test(
        "options that contradict each other are refused",
        arguments: [
            ["--verify", "--list"], ["--verify", "--restore"], ["--list", "--replace"], ["--merge"],
            ["--restore", "--only", "x"], ["--restore", "--on-conflict", "both"], ["--verify", "--merge"],
            ["--restore", "--merge", "--on-conflict", "theirs"], ["--restore", "--merge", "--only", ""],
        ]
    )
    func usage(arguments: [String]) async throws {
        let keychain = try RealKeychain()
        #expect(try await keychain.run(all: ["backup", "file"] + arguments).status == 64)
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
