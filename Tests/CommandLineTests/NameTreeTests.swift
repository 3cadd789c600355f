import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone list with prefixes and as a tree")
struct NameTreeTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private func keychain(_ names: String...) throws -> ScriptedKeychain {
        let secrets = names.map { ($0, ScriptedKeychain.Secret(octets: [1])) }
        return try ScriptedKeychain(home, Dictionary(uniqueKeysWithValues: secrets))
    }

    private func names(_ arguments: String...) async throws -> [String] {
        let result = try await CommandRun(arguments: ["list"] + arguments, home: home).run()
        #expect(result.status == 0, "\(result)")
        return result.text.split(separator: "\n").map { String($0.prefix { $0 != "\t" }) }
    }

    @Test("a prefix lists the names that begin with it, byte by byte, and no others")
    func prefix() async throws {
        // A composed and a decomposed é are two names.
        let keychain = try keychain(
            "web/a",
            "web/b/c",
            "web/",
            "web",
            "website",
            "mail",
            "\u{E9}/a",
            "e\u{301}/b"
        )
        #expect(try await names("web/") == ["web/", "web/a", "web/b/c"])
        #expect(try await names("web/b/") == ["web/b/c"])
        #expect(try await names("\u{E9}/") == ["\u{E9}/a"])
        let json = try await CommandRun("ls", "--json", "web/b/", home: home).run()
        let list = try #require(JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]])
        #expect(list.compactMap { $0["name"] as? String } == ["web/b/c"])
        #expect(keychain.released.isEmpty)
    }

    @Test("a prefix that no name begins with ends with status 3", arguments: [[], ["--tree"], ["--json"]])
    func none(options: [String]) async throws {
        let keychain = try keychain("web", "mail")
        let result = try await CommandRun(arguments: ["list", "web/"] + options, home: home).run()
        #expect(result.status == 3)
        #expect(result.text == (options == ["--json"] ? "[]\n" : ""))
        #expect(
            result.errors
                == "error: no secret's name begins with 'web/'\nhint: touchstone list --tree\n"
        )
        _ = keychain
    }

    @Test(
        "what is no prefix is explained",
        arguments: [
            (["web"], "a prefix ends with '/', as in 'web/'"), ([""], "a name is not empty"),
            (["a\nb/"], "no control characters"), (["--tree", "--json"], "--tree goes without --json"),
            ([String(repeating: "n", count: 255) + "/"], "at most 255 bytes"),
        ]
    )
    func usage(arguments: [String], reason: String) async throws {
        let result = try await CommandRun(arguments: ["list"] + arguments, home: home).run()
        #expect(result.status == 64)
        #expect(result.errors.contains(reason), "\(result.errors)")
    }

    private static let tree = """
        /
          etc  either
        \\u{20}lead/
          \\u{20}x  either
        a  either
        a/
          /
            b  either
        e\\u{1b}[2J/
          \\u{202e}n\\u{a}  either
        web  either
        web/
          x/
            deep  either
          y  either
        web/  either

        """

    @Test("the tree has each directory once, and text of others neither moves the cursor nor forges a level")
    func tree() async throws {
        let keychain = try keychain(
            "a",
            "web/x/deep",
            "web/y",
            "web",
            "web/",
            "/etc",
            "a//b",
            " lead/ x",
            "e\u{1B}[2J/\u{202E}n\n"
        )
        #expect(try await CommandRun("list", "--tree", home: home).run().text == Self.tree)
        let part = try await CommandRun("list", "--tree", "web/x/", home: home).run()
        #expect(part.text == "web/\n  x/\n    deep  either\n")
        let terminal = try PseudoTerminal()
        var run = CommandRun("list", "--tree", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        #expect(try await run.run().status == 0)
        try await terminal.wait(for: "web/  either")
        #expect(!terminal.octets.contains(0x1B))
        #expect(keychain.released.isEmpty)
    }

    @Test("an empty keychain has an empty tree")
    func empty() async throws {
        let keychain = try ScriptedKeychain(home)
        let result = try await CommandRun("list", "--tree", home: home).run()
        #expect(result.status == 0 && result.output.isEmpty && result.errors.isEmpty)
        _ = keychain
    }
}
