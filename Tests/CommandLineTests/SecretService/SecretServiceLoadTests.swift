import Foundation
import Glibc
import MessageBus
import Testing
import TouchstoneTesting

/// Many clients and many items; at full size 64 clients and 10,000 items.
///
/// The cells: all at once, each with its own; one that floods while another reads; more calls than may wait; more programs than are
/// served, and one that takes the place of another.
@Suite(
    "The Secret Service under load",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(30))
)
struct SecretServiceLoadTests {
    private static let isFullSize = ProcessInfo.processInfo.environment["TOUCHSTONE_FULL_SIZE"] == "1"
    private let world: SecretServiceWorld

    init() async throws { world = try await SecretServiceWorld() }

    @Test("clients that store, search, read and delete at once each get their own, and none of another's")
    func clients() async throws {
        let (count, each) = Self.isFullSize ? (64, 156) : (16, 20)
        let world = world
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let client = try await world.client()
                    var paths: [String: String] = [:]
                    for index in 0..<each {
                        let secret = "secret \(number) \(index)"
                        let attributes = ["client": "\(number)", "index": "\(index)"]
                        paths[try await client.create("label", attributes, secret).item] = secret
                    }
                    #expect(paths.count == each)
                    let found = try await client.search(["client": "\(number)"])
                    #expect(Set(found.unlocked) == Set(paths.keys) && found.locked.isEmpty)
                    #expect(try await client.read(found.unlocked) == paths)
                    for (path, secret) in paths.prefix(10) {
                        #expect(try await client.read(path) == secret)
                        _ = try await client.call(path, SecretsPeer.item, "Delete")
                    }
                    #expect(try await client.search(["client": "\(number)"]).unlocked.count == each - 10)
                    await client.peer.close()
                }
            }
            try await group.waitForAll()
        }
        // Nobody's are gone with the others'.
        let last = try await world.client()
        for number in 0..<count {
            #expect(try await last.search(["client": "\(number)"]).unlocked.count == each - 10)
        }
    }

    @Test("what no program should say is refused, loses nothing, and is told in one line each")
    func badInput() async throws {
        let client = try await world.client()
        let (item, _) = try await client.create("mail", ["user": "a"])
        let foreign = try await world.client().session
        let (root, service) = (SecretServiceWorld.root, SecretsPeer.service)
        let many = Dictionary(uniqueKeysWithValues: (0..<49).map { ("n\($0)", "v") })
        let start = ContinuousClock.now
        for _ in 0..<3 {
            let faults = [
                await client.fault(root, service, "OpenSession", [.string("rot13"), .variant(.string(""))]),
                await client.fault(root, service, "SearchItems", [.uint32(1)]),
                await client.fault(root, service, "SearchItems", [.textPairs(many)]),
                await client.fault(item, SecretsPeer.item, "GetSecret", [.objectPath(foreign)]),
            ]
            #expect(
                faults == [
                    "org.freedesktop.DBus.Error.NotSupported", "org.freedesktop.DBus.Error.InvalidArgs",
                    "org.freedesktop.DBus.Error.LimitsExceeded", SecretsPeer.noSession,
                ]
            )
        }
        #expect(await client.fault(root + "/collection/nothere", SecretsPeer.collection, "Delete") != nil)
        #expect(try await client.read(item) == SecretServiceWorld.secret)
        let result = try await world.stopDoor()
        let lines = (result?.errors ?? "").split(separator: "\n").filter { $0.hasPrefix("refused: ") }
        #expect(Set(lines).count == 4 && lines.allSatisfy { $0.contains("process \(getpid())") }, "\(lines)")
        // Each may be told again a minute later.
        #expect(ContinuousClock.now - start > .seconds(55) || lines.count == 4, "\(lines)")
    }

    @Test("one client's flood is refused beyond its limit, and another's reads go on")
    func flood() async throws {
        let client = try await world.client()
        let (item, _) = try await client.create("mail", ["user": "a"])
        let other = try await world.client()
        let root = SecretServiceWorld.root
        let outcomes = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4000 {
                group.addTask {
                    await other.fault(root, SecretsPeer.service, "SearchItems", [.textPairs(["user": "a"])])
                }
            }
            for _ in 0..<50 { #expect(try await client.read(item) == SecretServiceWorld.secret) }
            return try await group.reduce(into: [String?: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(outcomes.values.reduce(0, +) == 4000)
        let refused = "org.freedesktop.DBus.Error.LimitsExceeded"
        #expect(outcomes.keys.allSatisfy { $0 == nil || $0 == refused }, "\(outcomes)")
        #expect(outcomes[nil] ?? 0 >= 1024)
        // It is served again.
        #expect(try await other.search(["user": "a"]).unlocked == [item])
    }

    @Test("more programs than are served are refused, and one that goes makes room")
    func programs() async throws {
        var clients: [SecretsPeer] = []
        while clients.count < 512 { clients.append(try await world.client()) }
        await #expect(throws: BusError.self) { try await world.client() }
        let (item, _) = try await clients[0].create("mail", ["user": "a"])
        await clients[1].peer.close()
        let late = try await Deadline.wait(for: "room") { try? await world.client() }
        #expect(try await late.read(item) == SecretServiceWorld.secret)
        for client in clients.dropFirst(2) { await client.peer.close() }
        #expect(try await clients[0].read(item) == SecretServiceWorld.secret)
    }
}
