import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The values that secrets had before they were replaced or deleted.
@Suite(
    "touchstone history, undo",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct HistoryTests {
    /// A keychain that keeps values.
    private static func ready(_ words: String...) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready()
        let result = try await keychain.run(all: ["history"] + (words.isEmpty ? ["--keep", "3"] : words))
        #expect(result.status == 0 && result.output.isEmpty, "\(result.errors)")
        return keychain
    }

    private static func set(
        _ keychain: RealKeychain,
        _ name: String,
        _ secret: String,
        _ options: String...
    ) async throws {
        let result = try await keychain.run(all: ["set", name] + options, input: secret)
        #expect(result.status == 0, "\(name): \(result.errors)")
    }

    /// The lines of a list, by field.
    private static func lines(_ keychain: RealKeychain, _ name: String...) async throws -> [[String]] {
        let result = try await keychain.run(all: ["history"] + name)
        #expect(result.status == 0, "\(result.errors)")
        return result.text.split(separator: "\n").map { $0.split(separator: "\t").map { String($0) } }
    }

    private static func get(_ keychain: RealKeychain, _ words: String...) async throws -> String {
        let result = try await keychain.run(all: ["get"] + words)
        #expect(result.status == 0, "\(words): \(result.errors)")
        return result.text
    }

    @Test("a new keychain keeps nothing: what is replaced or deleted is gone, and the commands say so")
    func off() async throws {
        let keychain = try await RealKeychain.ready()
        try await Self.set(keychain, "mail", "one", "--require", "none")
        try await Self.set(keychain, "mail", "two", "--require", "none", "--replace")
        #expect(try await Self.lines(keychain).isEmpty)
        for command in [["history", "mail"], ["undo", "mail"], ["get", "mail", "--former", "1"]] {
            let result = try await keychain.run(all: command)
            #expect(result.status == 3 && result.output.isEmpty)
            #expect(
                result.errors
                    == "error: no earlier value of 'mail' is kept\n"
                    + "hint: touchstone history --keep 10 keeps values from now on\n"
            )
        }
        let deleted = try await keychain.run("delete", "mail", "--yes")
        #expect(deleted.status == 0 && deleted.errors.isEmpty && deleted.output.isEmpty)
        #expect(try await keychain.run("undo", "mail").status == 3)
        // What the hint says changes it.
        #expect(try await keychain.run("history", "--keep", "10").status == 0)
        try await Self.set(keychain, "mail", "three", "--require", "none")
        try await Self.set(keychain, "mail", "four", "--require", "none", "--replace")
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "three")
    }

    /// Every way by which the command replaces a value.
    enum Way: String, CaseIterable {
        case set, generate, field, totp, copy, edit

        func run(_ keychain: RealKeychain) async throws -> CommandResult {
            switch self {
            case .set: try await keychain.run("set", "mail", "--replace", "--require", "none", input: "new")
            case .generate: try await keychain.run("generate", "mail", "--replace", "--require", "none")
            case .field: try await keychain.run("set", "mail", "--field", "user", input: "ann")
            case .totp: try await keychain.run("totp", "mail", "--add", input: "JBSWY3DPEHPK3PXP")
            case .copy: try await keychain.run("copy", "other", "mail", "--replace")
            case .edit: try await edit(keychain)
            }
        }

        private func edit(_ keychain: RealKeychain) async throws -> CommandResult {
            let editor = keychain.home.path + "/editor"
            try "#!/bin/sh\nprintf new > \"$1\"\n".write(toFile: editor, atomically: true, encoding: .utf8)
            chmod(editor, 0o755)
            var run = CommandRun("edit", "mail", home: keychain.home)
            run.terminal = try PseudoTerminal()
            run.input = .terminal
            run.drawsOnTerminal = true
            run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned, "EDITOR": editor]
            return try await run.run()
        }
    }

    @Test("each way to replace a value keeps it, and undo brings it back", arguments: Way.allCases)
    func ways(_ way: Way) async throws {
        let keychain = try await Self.ready()
        try await Self.set(keychain, "other", "new", "--require", "none")
        try await Self.set(keychain, "mail", "old", "--require", "none")
        let result = try await way.run(keychain)
        #expect(result.status == 0, "\(result.errors)")
        let new = try await Self.get(keychain, "mail")
        #expect(new != "old")
        #expect(
            try await Self.lines(keychain, "mail").map { [$0[0], $0[1], $0[4]] } == [
                ["mail", "1", "replaced"]
            ]
        )
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "old")
        let undone = try await keychain.run("undo", "mail")
        #expect(undone.status == 0 && undone.output.isEmpty, "\(undone.errors)")
        #expect(undone.errors.hasPrefix("'mail' has an earlier value again, stored 20"))
        #expect(try await Self.get(keychain, "mail") == "old")
        #expect(try await Self.get(keychain, "mail", "--former", "1") == new)
        #expect(try await Self.lines(keychain, "mail").count == 1)
        #expect(try await keychain.run("undo", "mail").status == 0)
        #expect(try await Self.get(keychain, "mail") == new)
    }

    @Test("the last values stay, the newest first, and a bound that becomes smaller holds at once")
    func bounds() async throws {
        let keychain = try await Self.ready("--keep", "3", "--days", "7")
        for number in 1...6 {
            try await Self.set(keychain, "mail", "\(number)", "--require", "none", "--replace")
        }
        var values: [String] = []
        for number in 1...3 { values.append(try await Self.get(keychain, "mail", "--former", "\(number)")) }
        #expect(values == ["5", "4", "3"])
        let beyond = try await keychain.run("get", "mail", "--former", "4")
        #expect(
            beyond.status == 3
                && beyond.errors == "error: 'mail' has 3 kept values\nhint: touchstone history mail\n"
        )
        #expect(try await keychain.run("undo", "mail", "--to", "3").status == 0)
        #expect(try await Self.get(keychain, "mail") == "3")
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "6")
        let set = try await keychain.run("history", "--keep", "1")
        #expect(
            set.errors == "The last value of each secret that is replaced or deleted is kept for 7 days.\n"
        )
        #expect(try await Self.lines(keychain).map { $0[0] } == ["mail"])
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "6")
        // Nothing of it is seen elsewhere.
        #expect(try await keychain.run("list").text.split(separator: "\n").count == 1)
        #expect(try await keychain.run("find", "mail").text.split(separator: "\n").count == 1)
    }

    @Test("a deleted secret comes back as it was; deleted for good it does not, nor does what was kept of it")
    func deleted() async throws {
        let keychain = try await Self.ready()
        for name in ["a", "b", "c"] {
            try await Self.set(keychain, name, "old \(name)", "--require", "none", "--when", "first-unlock")
            try await Self.set(
                keychain,
                name,
                "new \(name)",
                "--require",
                "none",
                "--when",
                "first-unlock",
                "--replace"
            )
        }
        let one = try await keychain.run("delete", "a", "--yes")
        #expect(
            one.status == 0 && one.errors.hasPrefix("Deleted; touchstone undo NAME brings it back until 20")
        )
        #expect(try await keychain.run("get", "a").status == 3)
        #expect(try await Self.lines(keychain, "a").map { $0[4] } == ["deleted", "replaced"])
        // One of several names is missing: none is deleted.
        #expect(try await keychain.run("delete", "b", "nowhere", "--yes").status == 3)
        #expect(try await Self.get(keychain, "b") == "new b")
        #expect(try await keychain.run("delete", "b", "c", "--yes").status == 0)
        #expect(try await keychain.run("list").text.isEmpty)
        for name in ["a", "b", "c"] {
            let undone = try await keychain.run("undo", name)
            #expect(undone.status == 0 && undone.errors.hasPrefix("'\(name)' is there again, stored 20"))
            #expect(try await Self.get(keychain, name) == "new \(name)")
            #expect(try await Self.get(keychain, name, "--former", "1") == "old \(name)")
        }
        let list = try await keychain.run("list").text
        #expect(
            list.split(separator: "\n").allSatisfy { $0.hasSuffix("first-unlock") && $0.contains("\tnone\t") }
        )
        #expect(try await keychain.run("delete", "a", "--for-good", "--yes").status == 0)
        #expect(try await keychain.run("history", "a").status == 3)
        #expect(try await keychain.run("history", "b", "--forget", "--yes").status == 0)
        #expect(try await keychain.run("undo", "b").status == 3)
        #expect(try await Self.get(keychain, "b") == "new b")
        let ended = try await keychain.run("history", "--off", "--yes")
        #expect(ended.status == 0 && ended.errors == "No values are kept.\n")
        #expect(try await Self.lines(keychain).isEmpty)
    }

    @Test("a renamed secret keeps its values, and a name that is stored again finds those that it had")
    func names() async throws {
        let keychain = try await Self.ready()
        try await Self.set(keychain, "old/it's \"x\"", "1", "--require", "none")
        try await Self.set(keychain, "old/it's \"x\"", "2", "--require", "none", "--replace")
        #expect(try await keychain.run("rename", "old/", "new/").status == 0)
        #expect(try await Self.get(keychain, "new/it's \"x\"", "--former", "1") == "1")
        #expect(try await keychain.run("undo", "new/it's \"x\"").status == 0)
        #expect(try await Self.get(keychain, "new/it's \"x\"") == "1")
        #expect(try await keychain.run("delete", "new/it's \"x\"", "--yes").status == 0)
        try await Self.set(keychain, "new/it's \"x\"", "3", "--require", "none")
        #expect(try await Self.get(keychain, "new/it's \"x\"", "--former", "1") == "1")
        #expect(try await keychain.run("undo", "new/it's \"x\"").status == 0)
        #expect(try await Self.get(keychain, "new/it's \"x\"") == "1")
        #expect(try await Self.get(keychain, "new/it's \"x\"", "--former", "1") == "3")
    }

    @Test(
        "reading a kept value, undo and a deletion require what the secret required",
        arguments: ["passcode", "either"]
    )
    func requirements(_ rule: String) async throws {
        let keychain = try await Self.ready()
        try await Self.set(keychain, "mail", "old", "--require", rule)
        var prompts = keychain.prompts
        // Looser from now on: what is kept stays as strict as it was.
        try await Self.set(keychain, "mail", "new", "--require", "none", "--replace")
        #expect(keychain.prompts == prompts + 1)
        #expect(try await Self.get(keychain, "mail") == "new")
        try keychain.setCancels(true)
        for command in [["get", "mail", "--former", "1"], ["undo", "mail"]] {
            #expect(try await keychain.run(all: command).status == 4)
        }
        #expect(try await Self.get(keychain, "mail") == "new")
        try keychain.setCancels(false)
        prompts = keychain.prompts
        #expect(try await keychain.run("undo", "mail").status == 0)
        #expect(keychain.prompts == prompts + 1)
        #expect(try await keychain.run("list").text.contains("\t\(rule)\t"))
        try keychain.setCancels(true)
        let refused = try await keychain.run("delete", "mail", "--yes")
        #expect(refused.status == 4 && refused.errors.contains("hint: to delete without keeping the value"))
        let replaced = try await keychain.run("set", "mail", "--replace", "--require", rule, input: "third")
        #expect(replaced.status == 4)
        #expect(try await Self.lines(keychain, "mail").count == 1)
        #expect(try await keychain.run("delete", "mail", "--yes", "--for-good").status == 0)
        #expect(try await keychain.run("history", "mail").status == 3)
    }

    @Test("after a restart and in a locked keychain: what is kept is there, for the passcode")
    func locked() async throws {
        let keychain = try await Self.ready()
        try await Self.set(keychain, "mail", "old", "--require", "none")
        try await Self.set(keychain, "mail", "new", "--require", "none", "--replace")
        #expect(try await keychain.run("lock").status == 0)
        var prompts = keychain.prompts
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "old")
        #expect(keychain.prompts == prompts + 1)
        try keychain.stop(with: SIGTERM)
        prompts = keychain.prompts
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "old")
        #expect(keychain.prompts == prompts + 1)
        #expect(try await keychain.run("lock").status == 0)
        try keychain.setCancels(true)
        #expect(try await keychain.run("undo", "mail").status == 4)
        try keychain.setCancels(false)
        #expect(try await Self.get(keychain, "mail") == "new")
    }

    @Test(
        "a backup holds the setting and what is kept, by names that say so, and elsewhere undo brings it back"
    )
    func backup() async throws {
        let keychain = try await Self.ready()
        try await Self.set(keychain, "mail", "old", "--require", "none")
        try await Self.set(keychain, "mail", "new", "--require", "none", "--replace")
        let file = keychain.home.path + "/backup"
        #expect(try await keychain.run("backup", file).status == 0)
        let names = try await keychain.run("backup", "--list", file).text.split(separator: "\n").map {
            $0.split(separator: "\t")[0]
        }
        #expect(Set(names) == ["mail", "mail, former value", "history"], "\(names)")
        #expect(try await keychain.run("delete", "mail", "--for-good", "--yes").status == 0)
        #expect(try await keychain.run("backup", "--restore", file, "--merge").status == 0)
        #expect(try await Self.get(keychain, "mail") == "new")
        #expect(try await keychain.run("undo", "mail").status == 0)
        #expect(try await Self.get(keychain, "mail") == "old")
    }

    @Test("what does not fit together is a usage error, and a question without a terminal deletes nothing")
    func usage() async throws {
        let keychain = try await Self.ready()
        for words in [
            ["--keep", "0"], ["--keep", "101"], ["--days", "0"], ["--days", "3651"], ["--forget"],
            ["--off", "--json"], ["--off", "mail"], ["--keep", "2", "mail"], ["--yes"], ["--keep", "x"],
        ] {
            #expect(try await keychain.run(all: ["history"] + words).status == 64, "\(words)")
        }
        #expect(try await keychain.run("undo", "mail", "--to", "0").status == 64)
        #expect(try await keychain.run("get", "mail", "--former", "0").status == 64)
        try await Self.set(keychain, "mail", "old", "--require", "none")
        try await Self.set(keychain, "mail", "new", "--require", "none", "--replace")
        for words in [["--off"], ["mail", "--forget"]] {
            let result = try await keychain.run(all: ["history"] + words, hasTerminal: false)
            #expect(result.status == 8, "\(result.errors)")
        }
        #expect(try await Self.get(keychain, "mail", "--former", "1") == "old")
        let json = try await keychain.run("history", "mail", "--json")
        let list = try JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]]
        #expect(list?.count == 1 && list?.first?["change"] as? String == "replaced")
        #expect(list?.first?["number"] as? Int == 1 && list?.first?["require"] as? String == "none")
        // No value in any list.
        #expect(!json.text.contains("old") && !json.text.contains("new"))
    }
}
