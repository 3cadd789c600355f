import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Whole prefixes: all or none, asked for once, and refused before anything is changed.
@Suite(
    "touchstone rename and copy of prefixes",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct PrefixTests {
    /// Stores a secret for each name, whose value is the name.
    private static func keychain(
        _ secrets: [(name: String, requirement: String)],
        bus: PrivateBus? = nil,
        settings: [String] = []
    ) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready(bus: bus, settings: settings)
        for (name, requirement) in secrets {
            let result = try await keychain.run("set", name, "--require", requirement, input: name)
            #expect(result.status == 0, "\(result.errors)")
        }
        return keychain
    }

    /// The names with what they require.
    private static func names(_ keychain: RealKeychain) async throws -> [String] {
        try await keychain.run("list").text.split(separator: "\n").map { line in
            line.split(separator: "\t").prefix(2).joined(separator: " ")
        }
    }

    @Test("all names get the new prefix for one passcode, in a locked keychain too, and values stay")
    func rename() async throws {
        let keychain = try await Self.keychain([
            ("web/a", "none"), ("web/b", "passcode"), ("web/c/d", "either"), ("website", "none"),
            ("mail", "none"),
        ])
        for locks in [false, true] {
            if locks { #expect(try await keychain.run("lock").status == 0) }
            let (from, to) = locks ? ("site/", "web/") : ("web/", "site/")
            let before = keychain.prompts
            let result = try await keychain.run("mv", from, to)
            #expect(result.status == 0, "\(result.errors)")
            #expect(result.output.isEmpty && result.errors == "Renamed 3 secrets.\n")
            #expect(keychain.prompts == before + 1)
            let names = ["\(to)a none", "\(to)b passcode", "\(to)c/d either"]
            #expect(try await Set(Self.names(keychain)) == Set(names + ["mail none", "website none"]))
        }
        #expect(try await keychain.run("get", "web/b").text == "web/b")
        #expect(try await keychain.run("get", "web/c/d").text == "web/c/d")
    }

    @Test("a prefix moves below itself and back, and a name that ends with a slash moves along")
    func nested() async throws {
        let keychain = try await Self.keychain([("a/", "none"), ("a/x", "none"), ("b", "none")])
        #expect(try await keychain.run("rename", "a/", "a/old/").status == 0)
        #expect(try await Self.names(keychain) == ["a/old/ none", "a/old/x none", "b none"])
        #expect(try await keychain.run("rename", "a/old/", "a/").status == 0)
        #expect(try await Self.names(keychain) == ["a/ none", "a/x none", "b none"])
        // One secret of this name, if the new name is no prefix.
        #expect(try await keychain.run("rename", "a/", "c").status == 0)
        #expect(try await Self.names(keychain) == ["a/x none", "b none", "c none"])
    }

    @Test("names that are taken are told before a prompt and any change", arguments: ["rename", "copy"])
    func conflicts(command: String) async throws {
        let stored = [("web/a", "passcode"), ("web/b", "none"), ("web/c", "none"), ("site/a", "none")]
        let keychain = try await Self.keychain(stored + [("site/b", "none")])
        let before = try await Self.names(keychain)
        let prompts = keychain.prompts
        let result = try await keychain.run(command, "web/", "site/")
        #expect(result.status == 10)
        let past = command == "copy" ? "copied" : "renamed"
        #expect(
            result.errors.hasPrefix(
                "error: there are secrets named 'site/a', 'site/b' already; nothing was \(past)\nhint: choose another prefix"
            ),
            "\(result.errors)"
        )
        #expect(keychain.prompts == prompts)
        #expect(try await Self.names(keychain) == before)
    }

    @Test(
        "cancelled, impossible, without a match and with too long names, nothing is changed",
        arguments: ["rename", "copy"]
    )
    func refusals(command: String) async throws {
        let long = "web/" + String(repeating: "n", count: 251)
        let keychain = try await Self.keychain([("web/a", "none"), ("web/b", "passcode"), (long, "none")])
        let before = try await Self.names(keychain)
        try keychain.setCancels(true)
        #expect(try await keychain.run(command, "web/", "new/").status == 4)
        try keychain.setCancels(false)
        #expect(try await keychain.run(command, "web/", "new/", hasTerminal: false).status == 8)
        let prompts = keychain.prompts
        let missing = try await keychain.run(command, "wob/", "new/")
        #expect(missing.status == 3)
        #expect(missing.errors.hasPrefix("error: no secret's name begins with 'wob/'\n"))
        let tooLong = try await keychain.run(command, "web/", "longer/")
        #expect(tooLong.status == 1)
        #expect(tooLong.errors.contains("a name has at most 255 bytes; nothing was "), "\(tooLong.errors)")
        #expect(keychain.prompts == prompts)
        #expect(try await Self.names(keychain) == before)
        let none = try await RealKeychain().run(command, "a/", "b/")
        #expect(none.status == 7)
        #expect(none.errors == "error: there is no keychain yet\nhint: touchstone setup\n")
    }

    @Test(
        "one secret gets no prefix as its name, and two equal names are refused",
        arguments: [
            (["rename", "mail", "web/"], "give its whole new name, 'web/mail'"),
            (["copy", "a/b", "web/"], "give its whole new name, 'web/b'"),
            (["rename", "web/", "web/"], "both names are the same"),
            (["copy", "web/", ""], "a name is not empty"),
        ]
    )
    func usage(arguments: [String], reason: String) async throws {
        let result = try await CommandRun(arguments: arguments, home: TemporaryHome()).run()
        #expect(result.status == 64)
        #expect(result.errors.contains(reason), "\(result.errors)")
    }

    @Test("a lost secret is named, and nothing is changed", arguments: ["rename", "copy"])
    func lost(command: String) async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let keychain = try await Self.keychain([("web/a", "none"), ("web/b", "finger")], bus: bus)
        fprintd.change { $0.sensors = [.init(fingers: ["left-thumb"])] }
        // Notices the change.
        _ = try await keychain.run("set", "other", "--require", "finger", input: "x")
        let result = try await keychain.run(command, "web/", "site/")
        #expect(result.status == 3, "\(result)")
        #expect(result.errors.contains("'web/b' is lost"), "\(result.errors)")
        let names = try await Self.names(keychain)
        #expect(names.contains("web/a none") && !names.contains { $0.hasPrefix("site/") })
    }

    @Test("a finger and the passcode are each asked for once", arguments: ["rename", "copy"])
    func finger(command: String) async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let keychain = try await Self.keychain(
            [("w/a", "finger"), ("w/b", "either"), ("w/c", "finger"), ("w/d", "none")],
            bus: bus
        )
        let before = keychain.prompts
        try ScriptedPinentry.tell([.usual, .waits], home: keychain.home.path)
        fprintd.change { $0.verifications = [.init([.match])] }
        let result = try await keychain.run(command, "w/", "v/")
        #expect(result.status == 0, "\(result.errors)")
        // A finger counts on a new terminal once the passcode was entered.
        #expect(keychain.prompts <= before + 2)
        let moved = ["v/a finger", "v/b either", "v/c finger", "v/d none"]
        #expect(try await Self.names(keychain).prefix(4) == moved[...])
    }

    @Test("copies have the values and requirements, byte by byte alike names are kept apart")
    func copy() async throws {
        let keychain = try await Self.keychain([
            ("p/a", "passcode"), ("p/\u{E9}", "none"), ("p/e\u{301}", "either"), ("q", "none"),
        ])
        let before = keychain.prompts
        let result = try await keychain.run("cp", "p/", "p/old/")
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.errors == "Copied 3 secrets.\n")
        #expect(keychain.prompts == before + 1)
        #expect(
            try await Set(Self.names(keychain).map { Array($0.utf8) })
                == Set(
                    [
                        "p/a passcode", "p/\u{E9} none", "p/e\u{301} either", "p/old/a passcode",
                        "p/old/\u{E9} none", "p/old/e\u{301} either", "q none",
                    ].map { Array($0.utf8) }
                )
        )
        for last in ["\u{E9}", "e\u{301}"] {
            #expect(try await keychain.run("get", "p/old/" + last).output == Array(("p/" + last).utf8))
        }
    }

    @Test("a copy that does not fit is taken back, and with --replace the rest is told")
    func full() async throws {
        let stored = [("w/a", "none"), ("w/b", "none")]
        let keychain = try await Self.keychain(stored, settings: ["test.most-items = 3"])
        let refused = try await keychain.run("copy", "w/", "v/")
        #expect(refused.status == 1)
        #expect(refused.errors.hasPrefix("error: the keychain is full"), "\(refused.errors)")
        #expect(refused.errors.contains("; nothing was copied\n"), "\(refused.errors)")
        #expect(try await Self.names(keychain) == ["w/a none", "w/b none"])

        #expect(try await keychain.run("set", "v/a", "--require", "none", input: "old").status == 0)
        let part = try await keychain.run("copy", "--replace", "w/", "v/")
        #expect(part.status == 1)
        #expect(part.errors.contains("; 1 of 2 secrets are copied\nhint: do the rest with the same command"))
        #expect(try await keychain.run("get", "v/a").text == "w/a")
        #expect(try await Self.names(keychain) == ["v/a none", "w/a none", "w/b none"])
    }

    @Test("what an interruption left is completed by the same command")
    func completed() async throws {
        let keychain = try await Self.keychain([("w/a", "none"), ("w/b", "passcode")])
        #expect(try await keychain.run("rename", "w/a", "v/a").status == 0)
        #expect(try await keychain.run("rename", "w/", "v/").errors == "Renamed 1 secret.\n")
        #expect(try await Self.names(keychain) == ["v/a none", "v/b passcode"])
        #expect(try await keychain.run("copy", "v/a", "u/a").status == 0)
        #expect(try await keychain.run("copy", "v/", "u/").status == 10)
        #expect(try await keychain.run("copy", "--replace", "v/", "u/").status == 0)
        #expect(try await keychain.run("get", "u/b").text == "w/b")
    }
}
