import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite("Output for people")
struct WordsForPeopleTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test("-V prints the version too")
    func version() async throws {
        let (short, long) = (
            try await CommandRun("-V", home: home).run(), try await CommandRun("--version", home: home).run()
        )
        #expect(short.status == 0)
        #expect(!short.text.isEmpty && short.text == long.text)
    }

    @Test("columns align under wide letters, combining marks and emoji, and dates are in local time")
    func table() async throws {
        let keychain = try ScriptedKeychain(
            home,
            [
                "日本": .init(octets: [1]), "e\u{301}tage": .init(octets: [2]), "🔑": .init(octets: [3]),
                "plain": .init(octets: [4]),
            ]
        )
        let terminal = try PseudoTerminal()
        var run = CommandRun("list", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        run.environment = ["TZ": "UTC-9"]
        #expect(try await run.run().status == 0)
        try await terminal.wait(for: "plain  either   2026-01-01 09:00")
        try await terminal.wait(for: "tage  either   2026-01-01 09:00")
        try await terminal.wait(for: "日本   either   2026-01-01 09:00")
        try await terminal.wait(for: "🔑     either   2026-01-01 09:00")
        _ = keychain
    }

    @Test("JSON has words for the accessibility, and dates in UTC")
    func json() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: [1])])
        var run = CommandRun("list", "--json", home: home)
        run.environment = ["TZ": "UTC-9"]
        let result = try await run.run()
        #expect(result.text.contains("\"accessible\": \"whenUnlocked"))
        #expect(result.text.contains("\"created\": \"2026-01-01T00:00:00Z\""))
        _ = keychain
    }
}
