import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// A secret of a nightly program is read without anybody, also while the keychain is locked again; others are not.
@Suite(
    "touchstone set --when",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ReadabilityTests {
    private static func isRead(_ name: String, _ keychain: RealKeychain) async throws -> Bool {
        let before = keychain.prompts
        let result = try await keychain.run("get", name, hasTerminal: false)
        #expect(keychain.prompts == before, "nobody is asked")
        #expect(result.status == 0 || result.status == 8, "\(result.status) \(result.errors)")
        return result.status == 0 && result.text == "value of \(name)"
    }

    private static func set(_ name: String, _ options: String..., in keychain: RealKeychain) async throws {
        let result = try await keychain.run(all: ["set", name] + options, input: "value of \(name)")
        #expect(result.status == 0, "\(result.errors)")
    }

    /// The last field of each line of `list`, by name.
    private static func fields(_ keychain: RealKeychain) async throws -> [String: String] {
        let lines = try await keychain.run("list").text.split(separator: "\n").map {
            $0.split(separator: "\t")
        }
        #expect(lines.allSatisfy { $0.count == 6 })
        return Dictionary(lines.map { (String($0[0]), String($0[5])) }, uniquingKeysWith: { $1 })
    }

    @Test("unlocked, locked, and before the first unlock of another daemon")
    func states() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set("night", "--require", "none", "--when", "first-unlock", in: keychain)
        try await Self.set("day", "--require", "none", in: keychain)
        try await Self.set("day-too", "--require", "none", "--when", "unlocked", in: keychain)
        #expect(
            try await Self.fields(keychain) == [
                "night": "first-unlock", "day": "unlocked", "day-too": "unlocked",
            ]
        )
        for name in ["night", "day", "day-too"] { #expect(try await Self.isRead(name, keychain)) }
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await Self.isRead("night", keychain))
        for name in ["day", "day-too"] { #expect(try await !Self.isRead(name, keychain)) }
        try keychain.stop(with: SIGTERM)
        for name in ["night", "day", "day-too"] { #expect(try await !Self.isRead(name, keychain)) }
        #expect(try await keychain.run("unlock").status == 0)
        for name in ["night", "day", "day-too"] { #expect(try await Self.isRead(name, keychain)) }
    }

    @Test("list, its tree and show say it")
    func shown() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set("web/night", "--require", "none", "--when", "first-unlock", in: keychain)
        try await Self.set("web/day", in: keychain)
        let tree = try await keychain.run("list", "--tree").text
        #expect(tree == "web/\n  day  either\n  night  none, first-unlock\n")
        let show = try await keychain.run("show", "web/night").text
        #expect(show.contains("Readable:   once the keychain was unlocked, also when it is locked again\n"))
        #expect(try await keychain.run("list", "--json").text.contains("\"when\": \"first-unlock\""))
        let day = try await keychain.run("show", "--json", "web/day").text
        #expect(day.contains("\"when\": \"unlocked\"") && day.contains("\"accessible\": \"whenUnlocked\""))
    }

    @Test("require keeps it, or changes it when told, and does not guess for secrets that differ")
    func require() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set("night", "--require", "none", "--when", "first-unlock", in: keychain)
        try await Self.set("day", "--require", "none", in: keychain)
        #expect(try await keychain.run("require", "night", "either").status == 0)
        #expect(try await Self.fields(keychain) == ["night": "first-unlock", "day": "unlocked"])
        let mixed = try await keychain.run("require", "night", "day", "passcode")
        #expect(mixed.status == 64)
        #expect(
            mixed.errors == """
                error: 'night' and 'day' differ in when they can be read; nothing was changed
                hint: say it with --when unlocked or --when first-unlock

                """
        )
        #expect(try await keychain.run("list").text.contains("day\tnone\t"))
        let both = try await keychain.run("require", "night", "day", "none", "--when", "first-unlock")
        #expect(both.status == 0, "\(both.errors)")
        #expect(try await Self.fields(keychain) == ["night": "first-unlock", "day": "first-unlock"])
        #expect(try await keychain.run("lock").status == 0)
        for name in ["night", "day"] { #expect(try await Self.isRead(name, keychain)) }
        // The same requirement, another time.
        #expect(try await keychain.run("require", "day", "none", "--when", "unlocked").status == 0)
        #expect(try await keychain.run("lock").status == 0)
        #expect(try await !Self.isRead("day", keychain))
        #expect(try await Self.isRead("night", keychain))
    }

    @Test("edits, copies, new names and fields keep it")
    func kept() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set("night", "--require", "none", "--when", "first-unlock", in: keychain)
        #expect(try await keychain.run("copy", "night", "second").status == 0)
        #expect(try await keychain.run("rename", "night", "third").status == 0)
        #expect(try await keychain.run("set", "third", "--field", "user", input: "me").status == 0)
        #expect(try await Self.fields(keychain) == ["second": "first-unlock", "third": "first-unlock"])
        // A secret that replaces one is a new one.
        try await Self.set("third", "--replace", "--require", "none", in: keychain)
        #expect(try await Self.fields(keychain) == ["second": "first-unlock", "third": "unlocked"])
    }

    @Test("a requirement holds while it is locked too")
    func required() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set("night", "--require", "either", "--when", "first-unlock", in: keychain)
        #expect(try await keychain.run("lock").status == 0)
        let before = keychain.prompts
        #expect(try await !Self.isRead("night", keychain))
        #expect(try await keychain.run("get", "night").text == "value of night")
        #expect(keychain.prompts == before + 1)
    }

    @Test("a stored credential keeps it when git stores it again")
    func credential() async throws {
        let keychain = try await RealKeychain.ready()
        let asked = "protocol=https\nhost=git.example.org\nusername=me\n"
        let stored = try await keychain.run("git-credential", "store", input: asked + "password=one\n\n")
        #expect(stored.status == 0, "\(stored.errors)")
        let list = try await keychain.run("list").text
        let name = try #require(list.split(separator: "\t").first.map(String.init))
        let change = try await keychain.run("require", name, "none", "--when", "first-unlock")
        #expect(change.status == 0, "\(change.errors)")
        #expect(
            try await keychain.run("git-credential", "store", input: asked + "password=two\n\n").status == 0
        )
        #expect(try await Self.fields(keychain) == [name: "first-unlock"])
        #expect(try await keychain.run("lock").status == 0)
        let get = try await keychain.run("git-credential", "get", input: asked + "\n", hasTerminal: false)
        #expect(get.text.contains("password=two\n"), "\(get.errors)")
    }

    @Test("another word is refused")
    func refused() async throws {
        let keychain = try RealKeychain()
        let result = try await keychain.run("set", "x", "--when", "night", input: "x")
        #expect(result.status == 64)
        #expect(
            result.errors.contains("'unlocked', 'first-unlock'") || result.errors.contains("first-unlock")
        )
    }
}
