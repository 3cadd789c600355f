import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// Keys of sandboxed programs, as xdg-desktop-portal asks for them.
///
/// The cells: first and again, two programs, two at once; cold, protected,
/// cancelled, closed, the caller gone; a place that is closed or full; names that are empty, long or odd.
@Suite(
    "The portal for secrets",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(20))
)
struct PortalTests {
    private let world: SecretServiceWorld
    private let client: SecretsPeer
    private static let name = "org.freedesktop.impl.portal.desktop.touchstone"
    private static let root = "/org/freedesktop/portal/desktop"
    private static let handle = root + "/request/1_23/t"
    private static let interface = "org.freedesktop.impl.portal.Secret"

    init() async throws {
        world = try await SecretServiceWorld()
        client = try await world.client()
    }

    /// Asks for the key of a program; the response, and what was written.
    private func retrieve(
        _ program: String,
        handle: String = Self.handle,
        by client: SecretsPeer? = nil
    ) async throws -> (response: UInt32, key: [UInt8]) {
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let reader = BusDescriptor(adopting: ends[0])
        let response = try await ask(program, handle, BusDescriptor(adopting: ends[1]), by: client)
        // Without its writers a pipe ends.
        _ = fcntl(reader.number, F_SETFL, O_NONBLOCK)
        var octets = [UInt8](repeating: 0, count: 256)
        let count = read(reader.number, &octets, octets.count)
        return (response, Array(octets.prefix(max(0, count))))
    }

    private func ask(
        _ program: String,
        _ handle: String,
        _ place: BusDescriptor,
        by client: SecretsPeer? = nil
    ) async throws -> UInt32 {
        let reply = try await (client ?? self.client).peer.call(
            Bus.Target(Self.name, Self.root, Self.interface),
            "RetrieveSecret",
            [.objectPath(handle), .string(program), .descriptor(place), .properties([:])]
        )
        guard reply.count == 2, case .uint32(let response) = reply[0] else {
            throw TestKitError.unexpected("\(reply)")
        }
        return response
    }

    @Test("each program has a key of its own, which stays; it is listed, and can be protected")
    func keys() async throws {
        let first = try await retrieve("org.example.One")
        #expect(first.response == 0 && first.key.count == 64 && Set(first.key).count > 16)
        #expect(try await retrieve("org.example.One") == first)
        let second = try await retrieve("org.example.Two")
        #expect(second.response == 0 && second.key.count == 64 && second.key != first.key)
        // A program outside a sandbox has no name.
        #expect(try await retrieve("").key.count == 64)
        let other = try await world.client()
        #expect(try await retrieve("org.example.One", by: other) == first)

        let list = try await world.touchstone("secrets", "list")
        #expect(list.text.contains("\tKey of the program org.example.One\t"), "\(list.text)")
        let protect = try await world.touchstone("protect", "--match", "app_id=org.example.One")
        #expect(protect.status == 0, "\(protect.errors)")
        let before = world.keychain.boxes.count
        #expect(try await retrieve("org.example.One", by: other) == first)
        #expect(world.keychain.boxes.count == before + 1)
        let box = try #require(world.keychain.boxes.last)
        #expect(box.contains("Read the secret 'Key of the program org.example.One'."), "\(box)")
        try world.keychain.setCancels(true)
        let third = try await world.client()
        let cancelled = try await retrieve("org.example.One", by: third)
        #expect(cancelled.response == 1 && cancelled.key.isEmpty)
        #expect(try await retrieve("org.example.Two", by: third) == second)
    }

    @Test("two requests at once make one key; before the first unlock one is asked for")
    func together() async throws {
        try await world.endDaemon(by: SIGTERM)
        #expect(try await world.touchstone("status").status == 0)
        let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for number in 0..<8 {
                group.addTask { try await retrieve("org.example.One", handle: Self.handle + "\(number)").key }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(keys.count == 1 && keys.first?.count == 64)
    }

    @Test("a closed request ends its prompt, and so does a caller that goes")
    func closed() async throws {
        _ = try await retrieve("org.example.One")
        #expect(try await world.touchstone("protect", "--match", "app_id=org.example.One").status == 0)
        // Nobody answers.
        try ScriptedPinentry.tell(Array(repeating: .waits, count: 10), home: world.keychain.home.path)
        let before = world.keychain.boxes.count
        async let asked = retrieve("org.example.One")
        try await Deadline.wait(for: "the box") { world.keychain.boxes.count > before ? true : nil }
        // A request of another caller, and of another path, is not closed.
        let other = try await world.client()
        let target = Bus.Target(Self.name, Self.handle, "org.freedesktop.impl.portal.Request")
        await #expect(throws: BusError.self) { try await other.peer.call(target, "Close", []) }
        _ = try await client.peer.call(target, "Close", [])
        let ended = try await asked
        #expect(ended.response == 1 && ended.key.isEmpty)

        let boxes = world.keychain.boxes.count
        let gone = Task { try await retrieve("org.example.One", by: other) }
        try await Deadline.wait(for: "the second box") { world.keychain.boxes.count > boxes ? true : nil }
        await other.peer.close()
        try ScriptedPinentry.tell([], home: world.keychain.home.path)
        #expect(try await retrieve("org.example.One").key.count == 64)
        _ = await gone.result
    }

    @Test("a place that is closed or full gets nothing, and the next request is answered")
    func place() async throws {
        let key = try await retrieve("org.example.One").key
        var ends: [CInt] = [-1, -1]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        #expect(try await ask("org.example.One", Self.handle, BusDescriptor(adopting: ends[1])) == 2)
        #expect(pipe(&ends) == 0)
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        while write(ends[1], [UInt8](repeating: 0, count: 4096), 4096) > 0 {}
        #expect(try await ask("org.example.One", Self.handle, BusDescriptor(adopting: ends[1])) == 2)
        close(ends[0])
        #expect(try await retrieve("org.example.One").key == key)
    }

    @Test("odd requests are refused", arguments: [String(repeating: "a", count: 256)])
    func odd(_ program: String) async throws {
        await #expect(throws: BusError.self) { try await retrieve(program) }
        let target = Bus.Target(Self.name, Self.root, Self.interface)
        for arguments: [BusValue] in [
            [], [.string("x")], [.objectPath("/a"), .string("b"), .uint32(1), .properties([:])],
        ] {
            await #expect(throws: BusError.self) {
                try await client.peer.call(target, "RetrieveSecret", arguments)
            }
        }
        let properties = Bus.Target(Self.name, Self.root, "org.freedesktop.DBus.Properties")
        let version = try await client.peer.call(
            properties,
            "Get",
            [.string(Self.interface), .string("version")]
        )
        #expect(version == [.variant(.uint32(1))])
    }
}
