import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("touchstone list and show")
struct ListTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private static let secrets: [String: ScriptedKeychain.Secret] = [
        "bank": .init(octets: [1], flags: .biometryCurrentSet),
        "mail": .init(octets: [2], flags: .devicePasscode),
        "note": .init(octets: [3], flags: []), "web": .init(octets: [4]),
    ]

    @Test("list writes tab-separated lines sorted by name, and reads no secret")
    func lines() async throws {
        let keychain = try ScriptedKeychain(home, Self.secrets)
        let result = try await CommandRun("list", home: home).run()
        #expect(result.status == 0)
        let rest = "2026-01-01T00:00:00Z\t2026-02-28T23:59:59Z\tusable\tunlocked"
        #expect(
            result.text
                == "bank\tfinger\t\(rest)\nmail\tpasscode\t\(rest)\nnote\tnone\t\(rest)\nweb\teither\t\(rest)\n"
        )
        #expect(keychain.released.isEmpty)
    }

    @Test("list draws a table on a terminal")
    func table() async throws {
        let keychain = try ScriptedKeychain(home, Self.secrets)
        let terminal = try PseudoTerminal()
        var run = CommandRun("list", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        #expect(try await run.run().status == 0)
        try await terminal.wait(for: "NAME  REQUIRES  CREATED")
        try await terminal.wait(for: "mail  passcode  2026-01-01 00:00")
        _ = keychain
    }

    @Test("control characters in names stored by other programs are escaped")
    func controlCharacters() async throws {
        let keychain = try ScriptedKeychain(home, ["a\u{1B}[2J\tb\n": .init(octets: [1])])
        let result = try await CommandRun("list", home: home).run()
        #expect(result.text.hasPrefix("a\\u{1b}[2J\\u{9}b\\u{a}\teither\t"))
        #expect(result.text.split(separator: "\n").count == 1)
        _ = keychain
    }

    @Test("--json writes valid JSON")
    func json() async throws {
        let keychain = try ScriptedKeychain(home, ["q\"\\\u{1}é": .init(octets: [1])])
        let result = try await CommandRun("list", "--json", home: home).run()
        let list = try #require(JSONSerialization.jsonObject(with: Data(result.output)) as? [[String: Any]])
        #expect(list.count == 1)
        #expect(list.first?["name"] as? String == "q\"\\\u{1}é")
        #expect(list.first?["require"] as? String == "either")
        #expect(list.first?["created"] as? String == "2026-01-01T00:00:00Z")
        _ = keychain
    }

    @Test("a list of no secrets is empty and succeeds")
    func empty() async throws {
        let keychain = try ScriptedKeychain(home)
        let result = try await CommandRun("list", home: home).run()
        #expect(result.status == 0)
        #expect(result.output.isEmpty)
        let json = try await CommandRun("list", "--json", home: home).run()
        #expect(json.text == "[]\n")
        _ = keychain
    }

    @Test("show describes one secret in sentences")
    func show() async throws {
        let keychain = try ScriptedKeychain(home, Self.secrets)
        let text = try await CommandRun("show", "bank", home: home).run().text
        #expect(text.contains("Requires:   a finger of those enrolled when it was stored\n"))
        #expect(text.contains("Changed:    2026-02-28 23:59\n"))
        #expect(text.contains("Reference:  09090909090909090909090909090909\n"))
        #expect(try await CommandRun("show", "gone", home: home).run().status == 3)
        #expect(keychain.released.isEmpty)
    }
}
