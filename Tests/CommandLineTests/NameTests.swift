import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "Command aliases and everyday commands",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct NameTests {
    @Test("list, add, cp, mv, find and rm work under their aliases")
    func life() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("add", "mail", "--require", "none", input: "one").status == 0)
        #expect(try await keychain.run("add", "mail", input: "two").status == 10)
        #expect(try await keychain.run("cp", "mail", "web mail").status == 0)
        #expect(try await keychain.run("get", "web mail").text == "one")
        #expect(try await keychain.run("show", "web mail").text.contains("Requires:   nothing"))
        #expect(try await keychain.run("cp", "mail", "web mail").status == 10)
        #expect(try await keychain.run("mv", "mail", "web mail").status == 10)
        let before = keychain.prompts
        #expect(try await keychain.run("mv", "mail", "post").status == 0)
        #expect(keychain.prompts == before)
        #expect(try await keychain.run("get", "post").text == "one")
        #expect(try await keychain.run("get", "mail").status == 3)
        let names = { (result: CommandResult) in
            result.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
        }
        #expect(try await names(keychain.run("ls")) == ["post", "web mail"])
        #expect(try await names(keychain.run("find", "MAIL")) == ["web mail"])
        #expect(try await names(keychain.run("find", "p*t")) == ["post"])
        let none = try await keychain.run("find", "bank")
        #expect(none.status == 3 && none.output.isEmpty)
        let missing = try await keychain.run("rm", "-y", "post", "gone")
        #expect(missing.status == 3)
        #expect(try await names(keychain.run("ls")) == ["post", "web mail"])
        #expect(try await keychain.run("rm", "-y", "post", "web mail").status == 0)
        #expect(try await keychain.run("ls").output.isEmpty)
    }

    @Test("cp and mv of a passcode-protected secret need one prompt and keep its access rule")
    func protected() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "key", "--require", "passcode", input: "k").status == 0)
        let before = keychain.prompts
        #expect(try await keychain.run("cp", "key", "second").status == 0)
        #expect(keychain.prompts == before + 1)
        #expect(try await keychain.run("mv", "key", "first").status == 0)
        #expect(try await keychain.run("show", "second").text.contains("the passcode, each time"))
        #expect(try await keychain.run("show", "first").text.contains("the passcode, each time"))
        try keychain.setCancels(true)
        #expect(try await keychain.run("mv", "first", "third").status == 4)
        #expect(try await keychain.run("show", "first").status == 0)
    }

    @Test("a mistyped name is answered with a suggestion and without a prompt")
    func guess() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(
            try await keychain.run("set", "github-token", "--require", "passcode", input: "t").status == 0
        )
        let before = keychain.prompts
        for name in ["github-tokne", "gihub-token", "github"] {
            let terminal = try PseudoTerminal()
            var run = CommandRun("show", name, home: keychain.home)
            run.terminal = terminal
            run.drawsOnTerminal = true
            run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
            #expect(try await run.run().status == 3)
            try await terminal.wait(for: "hint: did you mean 'github-token'?")
        }
        #expect(try await keychain.run("get", "mail").errors.contains("hint: touchstone list\n"))
        #expect(keychain.prompts == before)
    }

    @Test("generate makes characters of every kind, words from the list, and the requested options")
    func generate() async throws {
        let keychain = try await RealKeychain.ready()
        let plain = try await keychain.run("generate", "a", "--require", "none", "--show")
        #expect(plain.status == 0)
        #expect(plain.output.count == 24)
        #expect(plain.errors == "Stored 'a': 24 characters, 157 bits.\n")
        #expect(try await keychain.run("get", "a").output == plain.output)
        #expect(plain.output.contains { $0.isASCIIDigit })
        let hidden = try await keychain.run("generate", "b")
        #expect(hidden.status == 0 && hidden.output.isEmpty)
        #expect(try await keychain.run("generate", "b").status == 10)
        let words = try await keychain.run("generate", "c", "--words", "7", "--separator", " ", "--show")
        #expect(words.text.split(separator: " ").count == 7)
        #expect(words.errors.contains("7 words, 90 bits"))
        let digits = try await keychain.run(
            "generate",
            "d",
            "--characters",
            "digits",
            "--length",
            "1000",
            "--show"
        )
        // Ten digits, 100 each on average, standard deviation 9.5: beyond six deviations about once in 10^8
        // runs.
        let counts = Dictionary(grouping: digits.output) { $0 }.mapValues(\.count)
        #expect(counts.count == 10 && counts.values.allSatisfy { abs($0 - 100) < 57 }, "\(counts)")
        for arguments in [
            ["--words", "0"], ["--length", "2"], ["--characters", "blood"], ["--separator", "x"],
        ] {
            var run = CommandRun(home: keychain.home)
            run.arguments = ["generate", "e"] + arguments
            #expect(try await run.run().status == 64)
        }
    }

    @Test("edit uses a file in memory that only its owner can access and that is removed afterwards")
    func edit() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "key", "--require", "passcode", input: "old").status == 0)
        let script = keychain.home.path + "/editor"
        try """
        #!/bin/sh
        stat -c '%a' "$1" "$(dirname "$1")" > "$SEEN"
        stat -f -c '%T' "$1" >> "$SEEN"
        cat "$1" >> "$SEEN"
        dirname "$1" > "$SEEN.directory"
        cp "$1" "$1~"
        echo new > "$1"
        exit "${EDITOR_STATUS:-0}"
        """.write(toFile: script, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
        for (status, text) in [("0", "Changed 'key'."), ("1", "nothing was changed")] {
            let before = keychain.prompts
            let terminal = try PseudoTerminal()
            var run = CommandRun("edit", "key", home: keychain.home)
            run.terminal = terminal
            run.input = .terminal
            run.drawsOnTerminal = true
            let seen = keychain.home.path + "/seen"
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "EDITOR": script, "SEEN": seen,
                "EDITOR_STATUS": status,
            ]
            let result = try await run.run()
            #expect(result.status == (status == "0" ? 0 : 1), "\(terminal.text)")
            try await terminal.wait(for: text)
            let lines = try String(contentsOfFile: seen, encoding: .utf8).split(separator: "\n")
            #expect(lines == ["600", "700", "tmpfs", status == "0" ? "old" : "new"])
            let directory = try String(contentsOfFile: seen + ".directory", encoding: .utf8)
            #expect(!FileManager.default.fileExists(atPath: directory.trimmingCharacters(in: .newlines)))
            #expect(keychain.prompts == before + 1)
            #expect(try await keychain.run("get", "key").text == "new")
        }
    }
}

extension UInt8 {
    fileprivate var isASCIIDigit: Bool { (0x30...0x39).contains(self) }
}
