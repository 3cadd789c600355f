import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let tool = "/usr/bin/secret-tool"
private let interpreter = "/usr/bin/python3"

/// A rule for programs that did not store a secret: each is asked for once.
@Suite(
    "Programs that read what another one stored",
    .enabled(
        if: SecretServiceWorld.isPossible && Programs.isBuilt(tool),
        "touchstone-secrets, its daemon, dbus-daemon and secret-tool are not all there"
    ),
    .timeLimit(.minutes(10))
)
struct ForeignTests {
    private let world: SecretServiceWorld
    /// This program, as a client.
    private let client: SecretsPeer

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    /// The boxes that `body` needs.
    private func boxes(_ body: () async throws -> Void) async throws -> [String] {
        let before = world.keychain.boxes.count
        try await body()
        return Array(world.keychain.boxes.dropFirst(before))
    }

    /// Expects that `body` needs this many boxes.
    private func expectBoxes(
        _ count: Int,
        sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () async throws -> Void
    ) async throws {
        let boxes = try await boxes(body)
        #expect(boxes.count == count, "\(boxes)", sourceLocation: sourceLocation)
    }

    private func protect(_ arguments: String...) async throws {
        let result = try await world.touchstone(all: ["protect", "--foreign"] + arguments)
        try #require(result.status == 0, "\(result.errors)")
    }

    private func lookUp(_ program: String = tool, _ name: String = "mail") async throws -> String? {
        let result = try await world.run(program, "lookup", "n", name)
        return result.status == 0 ? result.text : nil
    }

    /// Expects that a look-up gets the secret or not, and needs this many boxes.
    private func expectLookUp(
        _ found: Bool,
        boxes count: Int,
        _ program: String = tool,
        _ name: String = "mail",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await expectBoxes(count, sourceLocation: sourceLocation) {
            let secret = try await lookUp(program, name)
            #expect(secret == (found ? SecretServiceWorld.secret : nil), sourceLocation: sourceLocation)
        }
    }

    private func list() async throws -> String {
        try await world.touchstone("secrets", "list", "--json").text
    }

    private func create(_ name: String, _ more: [String: String] = [:]) async throws -> String {
        try await client.create(name, ["n": name].merging(more) { $1 }).item
    }

    @Test(
        "the one that stored it reads it; another one is asked for once, and a cancelled question comes again"
    )
    func once() async throws {
        let item = try await create("mail")
        let second = try await create("other")
        try await expectLookUp(true, boxes: 0)
        try await protect()
        let modified = try await client.property(item, SecretsPeer.item, "Modified")

        try await expectBoxes(0) { () async throws in
            let secret = try await client.read(item)
            #expect(secret == SecretServiceWorld.secret)
        }
        try world.keychain.setCancels(true)
        try await expectLookUp(false, boxes: 1)
        try world.keychain.setCancels(false)
        let asked = try await boxes { () async throws in
            let secret = try await lookUp()
            #expect(secret == SecretServiceWorld.secret)
        }
        #expect(asked.count == 1)
        #expect(
            asked.first?.contains("Let this program read the secret 'mail' from now on.") == true,
            "\(asked)"
        )
        #expect(asked.first?.contains("for \(tool)") == true, "\(asked)")
        for _ in 0..<4 {
            try await expectLookUp(true, boxes: 0)
        }
        // For that secret alone.
        try await expectLookUp(true, boxes: 1, tool, "other")
        // No property of the item tells that it was read.
        #expect(try await client.property(item, SecretsPeer.item, "Modified") == modified)
        #expect(try await client.search([:]).unlocked == [second, item])
        let text = try await list()
        #expect(text.contains("\"letThrough\": [\n        \"\(tool)\"\n      ]"), "\(text)")
        #expect(text.contains("\"storedBy\": \"/") && text.contains("\"foreign\": true"), "\(text)")

        // Beyond the end of the door and of the daemon: only the keychain asks.
        _ = try await world.stopDoor()
        try await world.endDaemon(by: SIGTERM)
        try await world.startDoor()
        let cold = try await boxes { () async throws in
            let secret = try await lookUp()
            #expect(secret == SecretServiceWorld.secret)
        }
        #expect(cold.count == 1 && !cold[0].contains("from now on"), "\(cold)")
    }

    @Test(
        "what another program stored is locked for this one, on every path to it, until the user lets it through"
    )
    func locked() async throws {
        #expect(
            try await world.run(tool, "store", "--label=Theirs", "n", "theirs", input: "theirs").status
                == 0
        )
        try await protect()
        let found = try await client.search(["n": "theirs"])
        let item = try #require(found.locked.first)
        #expect(found.unlocked.isEmpty)
        #expect(try await client.property(item, SecretsPeer.item, "Locked") == .boolean(true))
        let none = try await boxes { () async throws in
            #expect(
                await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(client.session)])
                    == SecretsPeer.isLocked
            )
            #expect(try await client.read([item]).isEmpty)
        }
        #expect(none.isEmpty)
        try await expectBoxes(1) { () async throws in
            let end = try await client.show(try await client.unlock([item]).prompt)
            #expect(!end.isDismissed && end.result.paths == [item])
        }
        #expect(try await client.property(item, SecretsPeer.item, "Locked") == .boolean(false))
        // For another client of the same program too, and more often than a gesture counts.
        let other = try await world.client()
        for _ in 0..<5 { #expect(try await other.read(item) == "theirs") }
        #expect(try await client.search(["n": "theirs"]).unlocked == [item])

        // Whoever writes it anew takes it from nobody.
        _ = try await client.create("Theirs", ["n": "theirs"], "ours", replaces: true)
        let free = try await boxes { () async throws in
            #expect(try await lookUp(tool, "theirs") == "ours")
            #expect(try await client.read([item]) == [item: "ours"])
        }
        #expect(free.isEmpty)
    }

    @Test(
        "an updated program is another one, and a program that cannot be identified is asked for each time"
    )
    func identity() async throws {
        _ = try await create("mail")
        try await protect()
        let copy = world.keychain.home.path + "/tool"
        let files = FileManager.default
        try files.copyItem(atPath: tool, toPath: copy)
        try await expectLookUp(true, boxes: 1, copy)
        try await expectLookUp(true, boxes: 0, copy)
        try files.copyItem(atPath: tool, toPath: copy + ".new")
        #expect(rename(copy + ".new", copy) == 0)
        try await expectLookUp(true, boxes: 1, copy)

        // A program whose file is gone has no name.
        let script = world.keychain.home.path + "/gone.py"
        try """
        import os, sys
        os.unlink(sys.argv[1])
        import gi
        gi.require_version("Secret", "1")
        from gi.repository import Secret
        schema = Secret.Schema.new("org.example.t", Secret.SchemaFlags.DONT_MATCH_NAME, {"n": Secret.SchemaAttributeType.STRING})
        for _ in range(2):
            print(Secret.password_lookup_sync(schema, {"n": "mail"}, None))
        """.write(toFile: script, atomically: true, encoding: .utf8)
        let before = try await list()
        for _ in 0..<2 {
            let python = world.keychain.home.path + "/python"
            try files.copyItem(
                atPath: URL(fileURLWithPath: interpreter).resolvingSymlinksInPath().path,
                toPath: python
            )
            let asked = try await boxes { () async throws in
                let result = try await world.run(python, script, python)
                let line = SecretServiceWorld.secret + "\n"
                #expect(result.status == 0 && result.text == line + line, "\(result.errors)")
            }
            // One gesture counts for several reads of one process.
            #expect(asked.count == 1 && !asked[0].contains("from now on"), "\(asked)")
        }
        #expect(try await list() == before)

        // A path of two lines cannot be remembered: one gesture, for this process.
        let odd = copy + "\nodd"
        try files.copyItem(atPath: tool, toPath: odd)
        for _ in 0..<2 { try await expectLookUp(true, boxes: 1, odd) }
    }

    @Test(
        "a rule is for certain secrets, and not for browsers' own keys but with --force; a read may wait"
    )
    func which() async throws {
        let key = ["xdg:schema": "chrome_libsecret_os_crypt_password_v2"]
        for (name, more) in [("mail", ["kind": "a"]), ("post", [:]), ("browser", key)] {
            #expect(
                try await world.run(
                    interpreter,
                    "-c",
                    """
                    import sys, gi
                    gi.require_version("Secret", "1")
                    from gi.repository import Secret
                    pairs = dict(p.split("=") for p in sys.argv[1:])
                    schema = Secret.Schema.new(pairs.pop("xdg:schema", "t"), Secret.SchemaFlags.NONE, {n: Secret.SchemaAttributeType.STRING for n in pairs})
                    Secret.password_store_sync(schema, pairs, None, "label", "secret", None)
                    """,
                    "n=\(name)",
                    more.first.map { "\($0.key)=\($0.value)" } ?? "z=z"
                ).status == 0
            )
        }
        try await protect("--match", "kind=a")
        #expect(try await client.search(["n": "mail"]).locked.count == 1)
        #expect(try await client.search(["n": "post"]).unlocked.count == 1)
        try await protect()
        #expect(try await client.search(["n": "post"]).locked.count == 1)
        #expect(try await client.search(["n": "browser"]).unlocked.count == 1)
        let changed = try await boxes { try await protect("--force", "--legacy", "wait") }
        #expect(changed.count == 1, "a rule of the door is changed by who gives its gesture")
        let browser = try #require(try await client.search(["n": "browser"]).locked.first)
        try await expectBoxes(1) { () async throws in
            let secret = try await client.read(browser)
            #expect(secret == "secret")
        }
        try await expectBoxes(0) { () async throws in
            let secret = try await client.read(browser)
            #expect(secret == "secret")
        }
    }

    @Test("the end of a rule for programs takes its gesture; with this one the answers are forgotten")
    func end() async throws {
        _ = try await create("mail")
        try await protect()
        #expect(try await lookUp() != nil)
        #expect(try await world.touchstone("protect", "--from-programs", "no-such-program").status == 0)
        try world.keychain.setCancels(true)
        for rule in [["--foreign"], ["--from-programs", "no-such-program"]] {
            let ends = try await world.touchstone(all: ["unprotect"] + rule)
            #expect(ends.status == 4, "\(ends.errors)")
        }
        #expect(try await list().contains("\"foreign\": true"))
        #expect(try await list().contains("no-such-program"))
        try world.keychain.setCancels(false)
        let asked = try await boxes { () async throws in
            #expect(
                try await world.touchstone("unprotect", "--from-programs", "no-such-program").status == 0
            )
            #expect(try await world.touchstone("unprotect", "--foreign").status == 0)
        }
        #expect(asked.count == 2 && asked.allSatisfy { $0.contains("End a rule") }, "\(asked)")
        #expect(try await world.touchstone("unprotect", "--foreign").status == 3)
        try await expectLookUp(true, boxes: 0)
        try await protect()
        try await expectLookUp(true, boxes: 1)
        #expect(try await world.touchstone("protect", "--foreign", "--window", "5min").status == 64)
        #expect(try await world.touchstone("protect", "--foreign", "--from-programs", "a").status == 64)
    }

    @Test("a deleted secret takes along who was let through to it")
    func deleted() async throws {
        let item = try await create("mail")
        try await protect()
        #expect(try await lookUp() != nil)
        func count() async throws -> Substring? {
            let lines = try await world.touchstone("apps").text.split(separator: "\n")
            return lines.first { $0.hasPrefix("org.freedesktop.secrets\t") }?.split(separator: "\t")[2]
        }
        #expect(try await count() == "3", "the secret, its readers, and the rule")
        _ = try await client.call(item, SecretsPeer.item, "Delete")
        #expect(try await count() == "1")
    }
}
