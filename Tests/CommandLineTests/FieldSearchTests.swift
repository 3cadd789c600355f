import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing
import TouchstoneTesting

/// `touchstone find --field`: what matches, for how many prompts, and what is told of secrets that cannot be read.
@Suite(
    "touchstone find --field",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct FieldSearchTests {
    private static func keychain(
        _ secrets: [(name: String, requirement: String, value: String)],
        bus: PrivateBus? = nil,
        settings: [String] = []
    ) async throws -> RealKeychain {
        let keychain = try await RealKeychain.ready(bus: bus, settings: settings)
        for (name, requirement, value) in secrets {
            let result = try await keychain.run("set", "--require", requirement, "--", name, input: value)
            #expect(result.status == 0, "\(name): \(result.errors)")
        }
        return keychain
    }

    /// The names that were written.
    private static func names(_ result: CommandResult) -> [String] {
        result.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    private static let three = [
        ("web/a", "none", "s3cret-a\nuser: Anna@Example.org\nurl: https://a.example.org/x\n"),
        ("web/b", "passcode", "s3cret-b\nuser: bob\nuser: anna@example.org"),
        ("mail", "either", "s3cret-c\r\nURL:  https://b.example.org\r\nnote: user: anna"),
    ]

    @Test("one prompt reads all, in a locked keychain too, and only names are written")
    func prompts() async throws {
        let keychain = try await Self.keychain(Self.three)
        for locks in [false, true] {
            if locks { #expect(try await keychain.run("lock").status == 0) }
            let before = keychain.prompts
            let result = try await keychain.run("find", "--field", "user", "anna@")
            #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
            #expect(Self.names(result) == ["web/a", "web/b"])
            #expect(keychain.prompts == before + 1)
            for text in ["s3cret", "example", "bob"] { #expect(!result.text.lowercased().contains(text)) }
        }
        let before = keychain.prompts
        let json = try await keychain.run("find", "--json", "--field", "URL", "https://B.*")
        let list = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]])
        #expect(list.compactMap { $0["name"] as? String } == ["mail"])
        #expect(!json.text.contains("example"))
        #expect(keychain.prompts == before + 1)
        // Only those under the prefix are read: none of them requires anything.
        #expect(try await keychain.run("rename", "web/b", "other/b").status == 0)
        let prompts = keychain.prompts
        let under = try await keychain.run(
            "find",
            "--prefix",
            "web/",
            "--field",
            "user",
            "anna",
            hasTerminal: false
        )
        #expect(under.status == 0 && Self.names(under) == ["web/a"], "\(under.errors)")
        #expect(keychain.prompts == prompts)
        #expect(try await Self.names(keychain.run("find", "--prefix", "web/", "a")) == ["web/a"])
    }

    @Test(
        "a text is a part of the value, and a pattern matches all of it",
        arguments: [
            ("me@x", true), ("ME", true), ("x.y", true), ("me", true), ("me@x.yz", false), ("m*y", true),
            ("m*x", false), ("*", true), ("?e@x.y", true), ("??@x.y", true), ("?@x.y", false),
            ("[l-n]e@*", true), ("[!m]e@*", false), ("[^m]e@*", false), ("[]m]e*y", true), ("*[.]?", true),
            ("[m*", false), ("m\\*y", false), ("**y*", true), ("m*e*x*y", true), ("m*e*x*y*z", false),
        ]
    )
    func patterns(text: String, isFound: Bool) async throws {
        let home = try TemporaryHome()
        let keychain = try ScriptedKeychain(home, ["a": .init(octets: Array("p\nuser: Me@x.y".utf8))])
        let result = try await CommandRun("find", "--field", "user", "--", text, home: home).run()
        #expect(result.status == (isFound ? 0 : 3), "\(result.errors)")
        _ = keychain
    }

    @Test(
        "letters of other scripts, bytes that are no text and pattern characters in a value are compared too",
        arguments: [
            ("J\u{F6}rg \u{65E5}\u{672C}", "j\u{F6}rg ??", true), ("\u{65E5}", "?", true),
            ("\u{65E5}", "???", false),
            ("\u{E9}", "[\u{E0}-\u{EF}]", true), ("\u{E9}", "[a-z]", false), ("a*b", "a*b", true),
            ("[x]", "[x]", true), ("x\\y", "x\\\\?", true), ("\u{1F511}", "[!\u{1F512}]", true),
        ]
    )
    func characters(value: String, text: String, isFound: Bool) async throws {
        let home = try TemporaryHome()
        let keychain = try ScriptedKeychain(
            home,
            [
                "a": .init(octets: Array("p\nk: \(value)".utf8)),
                "b": .init(octets: [0x0A, 0x6B, 0x3A, 0xE6, 0xFF]),
            ]
        )
        let result = try await CommandRun("find", "--field", "k", "--", text, home: home).run()
        let names = Self.names(result).filter { $0 == "a" }
        #expect(names.isEmpty != isFound, "\(result)")
        let any = try await CommandRun("find", "--field", "k", "*", home: home).run()
        #expect(Self.names(any) == ["a", "b"])
        _ = keychain
    }

    @Test(
        "nothing found, no field, no prefix, an empty keychain and none are status 3 and 7, each with its words"
    )
    func nothing() async throws {
        let keychain = try await RealKeychain.ready()
        #expect(try await keychain.run("find", "--field", "user", "x").status == 3, "empty")
        #expect(try await keychain.run("set", "a", "--require", "none", input: "p\nuser: me").status == 0)
        let none = try await keychain.run("find", "--field", "user", "p", "--json")
        #expect(none.status == 3 && none.text == "[]\n")
        #expect(none.errors == "error: no secret's field 'user' contains 'p'\nhint: touchstone list\n")
        #expect(try await keychain.run("find", "--field", "url", "*").status == 3)
        let prefix = try await keychain.run("find", "--field", "user", "--prefix", "w/", "me")
        #expect(prefix.status == 3 && prefix.errors.hasPrefix("error: no secret's name begins with 'w/'\n"))
        let missing = try await RealKeychain().run("find", "--field", "user", "x")
        #expect(
            missing.status == 7
                && missing.errors == "error: there is no keychain yet\nhint: touchstone setup\n"
        )
    }

    @Test(
        "a password is no argument, and names of fields and prefixes are checked, before a prompt",
        arguments: [
            ["--field", "password", "x"], ["--field", "PassWord", "x"], ["--field", "a:b", "x"],
            ["--field", "", "x"], ["--field", "user", ""], ["--field", "user", "--prefix", "web", "x"],
        ]
    )
    func usage(arguments: [String]) async throws {
        let result = try await CommandRun(arguments: ["find"] + arguments, home: TemporaryHome()).run()
        #expect(result.status == 64 && result.output.isEmpty, "\(result)")
    }

    @Test(
        "cancelled, nothing is written; without a terminal what needs no prompt is searched, and the rest told"
    )
    func refused() async throws {
        let keychain = try await Self.keychain(Self.three)
        try keychain.setCancels(true)
        let cancelled = try await keychain.run("find", "--field", "user", "anna")
        #expect(cancelled.status == 4 && cancelled.output.isEmpty)
        try keychain.setCancels(false)
        let before = keychain.prompts
        let hidden = try await keychain.run("find", "--field", "user", "anna", hasTerminal: false)
        #expect(hidden.status == 8)
        #expect(Self.names(hidden) == ["web/a"])
        let lines = hidden.errors.split(separator: "\n")
        #expect(lines.count == 4, "\(hidden.errors)")
        #expect(hidden.errors.contains("'mail' was not searched: a prompt is needed"), "\(hidden.errors)")
        #expect(hidden.errors.contains("'web/b' was not searched: a prompt is needed"))
        #expect(hidden.errors.contains("error: 2 of 3 secrets were not searched\nhint: "))
        #expect(keychain.prompts == before)
        #expect(try await keychain.run("lock").status == 0)
        let locked = try await keychain.run("find", "--field", "user", "anna", hasTerminal: false)
        #expect(locked.status == 8 && locked.output.isEmpty)
        #expect(locked.errors.contains("error: 3 of 3 secrets were not searched\n"), "\(locked.errors)")
    }

    @Test("a lost secret is told, and a finger and the passcode are each asked for once")
    func finger() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(on: bus)
        let value = "p\nuser: me"
        let keychain = try await Self.keychain(
            [
                ("w/a", "finger", value), ("w/b", "passcode", value), ("w/c", "finger", value),
                ("w/d", "none", value),
            ],
            bus: bus
        )
        try ScriptedPinentry.tell([.usual, .waits], home: keychain.home.path)
        fprintd.change { $0.verifications = [.init([.match])] }
        let before = keychain.prompts
        let both = try await keychain.run("find", "--field", "user", "me")
        #expect(both.status == 0 && Self.names(both) == ["w/a", "w/b", "w/c", "w/d"], "\(both)")
        #expect(keychain.prompts <= before + 3)

        fprintd.change { $0.sensors = [.init(fingers: ["left-thumb"])] }
        // Notices the change.
        try ScriptedPinentry.tell([], home: keychain.home.path)
        _ = try await keychain.run("set", "other", "--require", "finger", input: "x")
        let lost = try await keychain.run("find", "--field", "user", "me", "--prefix", "w/")
        #expect(lost.status == 0 && Self.names(lost) == ["w/b", "w/d"], "\(lost)")
        #expect(
            lost.errors
                == ["w/a", "w/c"].map { name in
                    "'\(name)' was not searched: lost, the enrolled fingers have changed\n"
                }.joined()
        )
        let json = try await keychain.run("find", "--field", "user", "you", "--prefix", "w/", "--json")
        #expect(
            json.status == 3 && json.text == "[]\n" && json.errors.contains("'w/a' was not searched: lost")
        )
    }

    /// The names whose values were asked for.
    private final class Asked: Sendable {
        let names = Mutex<[String]>([])
    }

    /// Serves names whose values are refused with an error.
    private static func daemon(
        _ home: TemporaryHome,
        _ secrets: [(name: String, fault: KeychainError?)],
        _ asked: Asked = Asked()
    ) throws -> ScriptedDaemon {
        try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                let query = try request.body(CopyItems.self).query
                var meant = secrets
                if case .string(let name) = query.attributes[.account] { meant.removeAll { $0.name != name } }
                if query.returns.contains(.data) { asked.names.withLock { $0 += meant.map(\.name) } }
                if query.returns.contains(.data), let fault = meant.first?.fault {
                    try peer.refuse(request, fault)
                    continue
                }
                let value = query.returns.contains(.data) ? Array("s3cret\nuser: me".utf8) : nil
                let items = meant.map { ScriptedItem(account: $0.name, data: value) }
                try peer.reply(to: request, items: items, more: false)
            }
        }
    }

    @Test("what is damaged or went meanwhile is told by name, harmlessly, and the others are found")
    func faults() async throws {
        let home = try TemporaryHome()
        let daemon = try Self.daemon(
            home,
            [
                ("a", nil), ("dam\u{202E}aged", KeychainError(.decode)),
                ("gone", KeychainError(.itemNotFound)),
                ("n\u{1B}[31mo", nil), ("z", nil),
            ]
        )
        let result = try await CommandRun("find", "--field", "user", "me", home: home).run()
        #expect(Self.names(result) == ["a", "z"])
        #expect(result.status == 9, "\(result)")
        #expect(
            result.errors == """
                'dam\\u{202e}aged' was not searched: the stored data is damaged
                'gone' was not searched: there is no secret named 'gone'
                'n\\u{1b}[31mo' was not searched: a name has no control characters
                error: 3 of 5 secrets were not searched
                hint: touchstone doctor

                """,
            "\(result.errors)"
        )
        #expect(!result.text.contains("s3cret") && !result.text.contains("me\t"))
        _ = daemon
    }

    @Test("those that require what is locked out are not asked for again, and eight are told by name")
    func lockedOut() async throws {
        let home = try TemporaryHome()
        let fault = KeychainError(.authFailed, cause: .closed)
        let names = (10..<25).map { ("name \($0)", fault as KeychainError?) }
        let asked = Asked()
        let daemon = try Self.daemon(home, names, asked)
        let result = try await CommandRun("find", "--field", "user", "me", home: home).run()
        #expect(result.status == 6 && result.output.isEmpty, "\(result)")
        let lines = result.errors.split(separator: "\n").map(String.init)
        #expect(lines.count(where: { $0.contains("' was not searched: ") }) == 8)
        #expect(lines.contains("and 7 more were not searched"))
        #expect(lines.contains("error: 15 of 15 secrets were not searched"))
        #expect(asked.names.withLock { $0 } == ["name 10"])
        _ = daemon
    }
}
