import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Lines `name: value` below the first line of a secret, as pass and gopass write them.
@Suite(
    "Fields of a secret",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct FieldTests {
    private static let whole =
        "p:4 ss\nuser: me@example.org\nURL:https://example.org/a?b=c:d\n\nfree text\nnote :  two  words \t\r\nuser: second\n"

    private static func ready(_ secret: String = whole) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready()
        #expect(
            try await keychain.run("set", "mail", "--exact", "--require", "none", input: secret).status == 0
        )
        return keychain
    }

    @Test(
        "a field is its line's value without the blanks around it, by its name in any case, the first of several"
    )
    func read() async throws {
        let keychain = try await Self.ready()
        for (field, value) in [
            ("password", "p:4 ss"), ("user", "me@example.org"), ("USER", "me@example.org"),
            ("url", "https://example.org/a?b=c:d"), ("note", "two  words"),
        ] {
            let result = try await keychain.run("get", "mail", "--field", field)
            #expect(result.status == 0 && result.text == value, "\(field): \(result.errors)")
        }
        #expect(try await keychain.run("get", "mail").text == Self.whole)
    }

    @Test(
        "a missing field is status 3, and the hint's command adds it",
        arguments: ["p", "free text", "p:4 ss"]
    )
    func missing(field: String) async throws {
        let keychain = try await Self.ready()
        let result = try await keychain.run("get", "mail", "--field", field)
        guard !field.contains(":") else { return #expect(result.status == 64 && result.output.isEmpty) }
        #expect(result.status == 3 && result.output.isEmpty)
        #expect(!result.errors.contains("example"))
        let word = field.replacingOccurrences(of: " ", with: "\\ ")
        #expect(
            result.errors.contains("hint: touchstone set --field \(word) mail adds it\n"),
            "\(result.errors)"
        )
        #expect(try await keychain.run("set", "--field", field, "mail", input: "new\n").status == 0)
        #expect(try await keychain.run("get", "mail", "--field", field).text == "new")
        #expect(try await keychain.run("get", "mail").text == Self.whole + "\(field): new\n")
    }

    @Test(
        "a field is changed in its place, added as the last line, and everything else stays byte for byte",
        arguments: [
            ("a", "password", "b", "b"), ("a", "user", "me", "a\nuser: me"),
            ("a\n", "user", "me", "a\nuser: me\n"),
            ("a\nuser: x\nz: 1", "User", "y", "a\nuser: y\nz: 1"), ("a\nuser:\n", "user", "y", "a\nuser:y\n"),
            ("a\r\nuser:  x \r\nz", "user", "y", "a\r\nuser:  y \r\nz"),
            ("\nuser: x", "password", "new", "new\nuser: x"),
            ("\u{FE}\u{0}\n", "k", "é", "\u{FE}\u{0}\nk: é\n"),
        ]
    )
    func change(before: String, field: String, value: String, after: String) async throws {
        let keychain = try await Self.ready(before)
        let result = try await keychain.run("set", "mail", "--field", field, input: value + "\n")
        #expect(result.status == 0 && result.output.isEmpty, "\(result.errors)")
        #expect(try await keychain.run("get", "mail").text == after)
    }

    @Test(
        "what is refused changes nothing: two lines, nothing, a missing secret, other options, a credential of git"
    )
    func refused() async throws {
        let keychain = try await Self.ready()
        let credential = "protocol=https\nhost=example.org\nusername=u\npassword=p\n"
        #expect(try await keychain.run("git-credential", "store", input: credential).status == 0)
        for (arguments, input, status) in [
            (["mail", "--field", "user"], "a\nb\n", 1), (["mail", "--field", "user"], "", 1),
            (["none", "--field", "user"], "a", 3), (["mail", "--field", "user", "--replace"], "a", 64),
            (["mail", "--field", ""], "a", 64), (["mail", "--field", "a:b"], "a", 64),
            (["mail", "--field", " a"], "a", 64), (["mail", "--user", "a\nb", "--replace"], "a", 64),
            (["mail", "--user", "me"], "a", 10), (["git:https://u@example.org", "--field", "user"], "a", 1),
        ] as [([String], String, Int32)] {
            let result = try await keychain.run(all: ["set"] + arguments, input: input)
            #expect(result.status == status, "\(arguments): \(result.errors)")
        }
        #expect(try await keychain.run("get", "mail").text == Self.whole)
        #expect(try await keychain.run("get", "git:https://u@example.org").text == "p")
    }

    @Test("the value with a field may be as large as a secret, and no larger")
    func size() async throws {
        let largest = ItemLimits.longestData
        let keychain = try await Self.ready(String(repeating: "x", count: largest - 9))
        let result = try await keychain.run("set", "mail", "--field", "user", input: "abc")
        #expect(result.status == 1 && result.errors.contains("too large"), "\(result.errors)")
        #expect(try await keychain.run("set", "mail", "--field", "user", input: "ab").status == 0)
        #expect(try await keychain.run("get", "mail").output.count == largest)
    }

    @Test("a new secret gets its user and URL at once, typed, piped or generated")
    func together() async throws {
        let keychain = try await RealKeychain.ready()
        let fields = ["--user", "me", "--url", "https://a.example", "--require", "none"]
        #expect(try await keychain.run(all: ["set", "a"] + fields, input: "pass\n").status == 0)
        #expect(try await keychain.run("get", "a").text == "pass\nuser: me\nurl: https://a.example")
        let made = try await keychain.run(all: ["generate", "b", "--length", "8", "--show"] + fields)
        #expect(made.text.count == 8)
        #expect(try await keychain.run("get", "b").text == made.text + "\nuser: me\nurl: https://a.example")
        #expect(
            try await keychain.run(all: ["set", "a", "--replace", "--user", "you"], input: "other").status
                == 0
        )
        #expect(try await keychain.run("get", "a").text == "other\nuser: you")
    }

    @Test(
        "a locked keychain asks once for a change, by whichever command",
        arguments: ["set", "totp", "edit"]
    )
    func locked(command: String) async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", input: "pass").status == 0)
        #expect(try await keychain.run("lock").status == 0)
        let before = keychain.prompts
        let result =
            switch command {
            case "set": try await keychain.run("set", "mail", "--field", "user", input: "you")
            case "totp": try await keychain.run("totp", "mail", "--add", input: "GEZA")
            default: try await edit("mail", in: keychain, writing: "pass\nuser: you")
            }
        #expect(result.status == 0, "\(result.errors)")
        #expect(keychain.prompts == before + 1)
        #expect(try await keychain.run("get", "mail").text.hasPrefix("pass\n"))
    }

    @Test("changing a field of a guarded secret asks once, and a cancelled prompt changes nothing")
    func guarded() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("set", "mail", "--user", "me", input: "pass").status == 0)
        let before = keychain.prompts
        #expect(try await keychain.run("set", "mail", "--field", "user", input: "you").status == 0)
        #expect(keychain.prompts == before + 1)
        try keychain.setCancels(true)
        #expect(try await keychain.run("set", "mail", "--field", "user", input: "they").status == 4)
        try keychain.setCancels(false)
        #expect(try await keychain.run("get", "mail").text == "pass\nuser: you")
    }

    @Test("a field is typed twice on the terminal, after the secret was looked up")
    func typed() async throws {
        let keychain = try await Self.ready("pass")
        let terminal = try PseudoTerminal()
        var run = CommandRun("set", "mail", "--field", "PIN code", home: keychain.home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned]
        let started = try run.start()
        for question in ["'PIN code' of 'mail':", "The same again:"] {
            try await terminal.wait(for: question)
            #expect(!terminal.isEchoing)
            terminal.press(.text("1234"), .enter)
        }
        #expect(await started.result().status == 0)
        #expect(try await keychain.run("get", "mail").text == "pass\nPIN code: 1234")
    }

    @Test("templates and variables take fields, each secret is released once, and --mask conceals them")
    func references() async throws {
        let keychain = try await Self.ready("pa55\nuser: me@x\nPIN code: 12 34\n")
        #expect(try await keychain.run("set", "guarded", "--user", "other", input: "w0rd").status == 0)
        let before = keychain.prompts
        let template =
            "touchstone://mail?field=user:touchstone://mail?field=password,{{ touchstone://mail?field=PIN%20code }};"
            + "touchstone://guarded?field=user touchstone://guarded?field=password touchstone://mail?fields=user\n"
        let result = try await keychain.run("inject", input: template)
        #expect(
            result.text == "me@x:pa55,12 34;other w0rd pa55\nuser: me@x\nPIN code: 12 34\n?fields=user\n",
            "\(result.errors)"
        )
        #expect(keychain.prompts == before + 1)
        let run = [
            "run", "--env", "A=touchstone://mail?field=user", "--env", "B=touchstone://mail?field=PIN code",
        ]
        let shown = ["--", "/bin/sh", "-c", "echo \"$A/$B\""]
        #expect(try await keychain.run(all: run + shown).text == "me@x/12 34\n")
        let masked = try await keychain.run(all: run + ["--mask"] + shown)
        #expect(!masked.text.contains("12 34"), "\(masked.text)")
        for reference in ["touchstone://mail?field=nothing", "touchstone://mail?field=a:b"] {
            let result = try await keychain.run("inject", input: "x \(reference) y")
            #expect(result.output.isEmpty && result.status != 0)
        }
        #expect(
            try await keychain.run("run", "--env", "A=touchstone://mail?field=no", "--", "/bin/echo", "ran")
                .text.isEmpty
        )
    }

    /// Runs `edit` with an editor that writes a text.
    private func edit(
        _ name: String,
        _ options: String...,
        in keychain: RealKeychain,
        writing text: String,
        on terminal: PseudoTerminal? = nil
    ) async throws -> CommandResult {
        let editor = keychain.home.path + "/editor"
        try "#!/bin/sh\nprintf '\(text)' > \"$1\"\n".write(toFile: editor, atomically: true, encoding: .utf8)
        chmod(editor, 0o755)
        var run = CommandRun(arguments: ["edit", name] + options, home: keychain.home)
        run.terminal = try terminal ?? PseudoTerminal()
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = ["TOUCHSTONE_DAEMON": Programs.touchstoned, "EDITOR": editor]
        return try await run.run()
    }

    @Test("edit writes a new secret, once something is written", arguments: ["first\nuser: me\n", ""])
    func edit(text: String) async throws {
        let keychain = try await RealKeychain.ready()
        let terminal = try PseudoTerminal()
        let edited = try await edit("new", "--require", "none", in: keychain, writing: text, on: terminal)
        #expect(edited.status == 0)
        try await terminal.wait(for: text.isEmpty ? "Nothing was stored." : "Stored 'new'.")
        let stored = try await keychain.run("get", "new")
        #expect(stored.status == (text.isEmpty ? 3 : 0))
        #expect(stored.text == text.trimmingCharacters(in: .newlines))
    }
}
