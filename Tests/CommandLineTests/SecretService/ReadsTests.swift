import Foundation
import Glibc
import KeychainModel
import MessageBus
import Testing
import TouchstoneTesting

/// `touchstone log --reads`: by the door and by the command; free, and behind a gesture; after a restart; deleted since; with text of
/// others.
@Suite(
    "touchstone log --reads",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct ReadsTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    private struct Read: Decodable {
        struct Item: Decodable {
            let label: String
            let requires: String
        }
        let time: String
        let times: Int
        let method: String
        let door: String?
        let program: String?
        let process: Int32
        let startedBy: [String]
        let group: String
        let what: String
        let count: Int
        let items: [Item]
        let shown: [String]
    }

    private func reads(_ arguments: String...) async throws -> [Read] {
        let result = try await world.touchstone(all: ["log", "--reads", "--json"] + arguments)
        #expect(result.status == 0, "\(result.errors)")
        #expect(!result.text.contains(SecretServiceWorld.secret))
        return try result.text.split(separator: "\n").map {
            try JSONDecoder().decode(Read.self, from: Data($0.utf8))
        }
    }

    @Test("each read is there with its program, what started it, secret, rule and what was shown")
    func recorded() async throws {
        #expect(try await reads().isEmpty)
        let label = "ba\u{1B}[31m\tnk"
        let (item, _) = try await client.create(label, ["n": "1"])
        let (gone, _) = try await client.create("gone", ["n": "2"])
        _ = try await client.search(["n": "1"])
        #expect(try await reads().isEmpty)
        for _ in 0..<2 { _ = try await client.read(item) }
        _ = try await client.read(gone)
        _ = try await client.call(gone, SecretsPeer.item, "Delete")
        #expect(try await world.touchstone("protect", "--match", "n=1", "--require", "passcode").status == 0)
        _ = try await client.show(try await client.unlock([item]).prompt)
        _ = try await client.read(item)
        #expect(try await world.keychain.run("set", "mail", input: "7316").status == 0)
        #expect(try await world.touchstone("get", "mail").text == "7316")

        let all = try await reads()
        try #require(all.count == 4, "\(all)")
        #expect(all.map(\.method) == Array(repeating: "read", count: 4) && all.map(\.times) == [2, 1, 1, 1])
        #expect(all[0].items.map(\.label) == [label] && all[0].items.map(\.requires) == ["passcode"])
        #expect(all[0].door == "Secret Service" && all[0].process == getpid() && all[0].shown.isEmpty)
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(all[0].program == own)
        #expect(!all[0].startedBy.isEmpty && all[0].startedBy.count <= 4)
        // The item is gone, and the record stays.
        #expect(all[1].items.isEmpty && all[1].count == 1)
        #expect(all[2].shown == ["passcode"] && all[2].items.map(\.label) == [label])
        #expect(all[3].door == nil && all[3].what.contains("mail") && all[3].group == "touchstone")
        // A link on a machine in system mode.
        #expect(all[3].program == URL(fileURLWithPath: Programs.touchstone).resolvingSymlinksInPath().path)
        #expect(try await reads("--lines", "1").map(\.what) == [all[3].what])

        let text = try await world.touchstone("log", "--reads")
        let lines = text.text.split(separator: "\n")
        #expect(lines.count == 4 && !text.text.contains("\u{1B}"), "\(text.text)")
        #expect(lines.allSatisfy { $0.split(separator: "\t", omittingEmptySubsequences: false).count == 8 })
        #expect(lines[1].contains("1 of other names"))

        try await world.endDaemon(by: SIGTERM)
        let later = try await reads()
        #expect(later.map(\.time) == all.map(\.time) && later.map(\.startedBy) == all.map(\.startedBy))
    }

    @Test("where none are kept there are none")
    func off() async throws {
        let world = try await SecretServiceWorld(settings: ["keep-reads = 0"])
        let client = try await world.client()
        let (item, _) = try await client.create("bank", ["n": "1"])
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        let result = try await world.touchstone("log", "--reads")
        #expect(result.status == 0 && result.text.isEmpty)
    }
}
