import Desk
import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// The cells: stored, changed, replaced, deleted, erased, refused; in the program's own group, in a shared one; told to the program, to
/// another one of the group, to one outside, to one that watches without items.
@Suite("Notices of changed items", .timeLimit(.minutes(5)))
struct ItemNoticeTests {
    /// A visit that watches, and what it was told of.
    private final class Watching: Sendable {
        let kinds = Guarded<[KeychainChange.Kind]>([])
        private let task: Task<Void, any Error>

        init(_ visit: Visit, _ request: WatchRequest, hasRoom: @escaping @Sendable () -> Bool = { true }) {
            let hasBegun = Guarded(false)
            task = Task { [kinds] in
                try await visit.watch(request, hasRoom: hasRoom) { reply in
                    // The first reply is empty: from now on changes are reported. A later one may be empty, too.
                    let isFirst = hasBegun.withLock { hasBegun in
                        defer { hasBegun = true }
                        return !hasBegun
                    }
                    kinds.withLock { $0 += isFirst ? [.sensor] : reply.changes.map(\.kind) }
                    return true
                }
            }
        }

        deinit { task.cancel() }

        /// What came until this change, which ends it.
        func told(until end: KeychainChange.Kind) async throws -> [KeychainChange.Kind] {
            try await Deadline.wait(for: "\(end)") {
                kinds.withLock { kinds in
                    guard kinds.last == end else { return nil }
                    defer { kinds = [] }
                    return kinds.dropLast()
                }
            }
        }
    }

    private let world: DeskWorld
    private let manifest: AccessGroupManifest

    init() async throws {
        world = try DeskWorld()
        try await world.setUp()
        var manifest = AccessGroupManifest()
        try manifest.add("[team]\n/usr/bin/app\n/usr/bin/other")
        self.manifest = manifest
    }

    private func visit(_ program: String) -> Visit {
        let identity = ClientIdentity(ownProgram: nil, manifest: manifest)
        return world.desk.visit(
            by: identity.asker(
                uid: geteuid(),
                pid: getpid(),
                processStart: 1,
                program: program,
                isStill: { true }
            )
        )
    }

    private static func attributes(_ group: String?) -> ItemAttributes {
        var attributes: ItemAttributes = [.service: .string("s"), .account: .string("me")]
        attributes[.accessGroup] = group.map { .string($0) }
        return attributes
    }

    private static func query(_ group: String?) -> ItemQuery {
        ItemQuery(itemClass: .genericPassword, attributes: attributes(group), limit: .all)
    }

    private static func secret() -> SecretBytes { SecretBytes(copying: [1]) }

    private func add(_ visit: Visit, _ group: String?) async throws {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: Self.attributes(group),
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: Self.secret(),
            prompt: PromptFields()
        )
        _ = try await visit.add(item, request: 1)
    }

    private func update(_ visit: Visit, _ group: String?) async throws {
        let update = UpdateItems(
            query: Self.query(group),
            attributes: [.comment: .string("c")],
            accessControl: nil,
            data: nil,
            prompt: PromptFields()
        )
        _ = try await visit.update(update, request: 1)
    }

    private func replace(_ visit: Visit, _ group: String?) async throws {
        let item = ReplaceItem(
            query: Self.query(group),
            itemClass: .genericPassword,
            attributes: Self.attributes(group),
            accessControl: AccessControl(accessibility: .whenUnlocked),
            data: Self.secret(),
            prompt: PromptFields()
        )
        _ = try await visit.replace(item, request: 1)
    }

    @Test("a change is told to those that may use the item's group and ask for it, and to nobody else")
    func groups() async throws {
        let app = visit("/usr/bin/app")
        let all = [visit("/usr/bin/app"), visit("/usr/bin/other"), visit("/usr/bin/third")]
            .map { Watching($0, WatchRequest(tellsItems: true)) }
        let plain = Watching(visit("/usr/bin/app"), WatchRequest())
        for watching in all + [plain] { _ = try await watching.told(until: .sensor) }
        func told(_ change: () async throws -> Void) async throws -> [Bool] {
            try await change()
            world.desk.watchers.tell(.lockout)
            #expect(try await plain.told(until: .lockout) == [])
            var told: [Bool] = []
            for watching in all {
                let kinds = try await watching.told(until: .lockout)
                #expect(kinds.allSatisfy { $0 == .items })
                told.append(!kinds.isEmpty)
            }
            return told
        }
        for (group, expected) in [(nil, [true, false, false]), ("team", [true, true, false])] {
            #expect(try await told { try await add(app, group) } == expected)
            #expect(
                try await told {
                    await #expect(throws: KeychainError.self) { try await add(app, group) }
                } == [false, false, false],
                "a refusal changes nothing"
            )
            #expect(try await told { try await update(app, group) } == expected)
            #expect(try await told { try await replace(app, group) } == expected)
            #expect(
                try await told {
                    _ = try await app.delete(DeleteItems(query: Self.query(group), prompt: PromptFields()))
                } == expected
            )
        }
        #expect(try await told { try await add(visit("/usr/bin/third"), nil) } == [false, false, true])
    }

    @Test("changes of items that wait to be read are each told, so that own ones can be told from another's")
    func waiting() async throws {
        let hasRoom = Guarded(true)
        let watcher = Watching(
            visit("/usr/bin/app"),
            WatchRequest(tellsItems: true),
            hasRoom: { hasRoom.withLock(\.self) }
        )
        _ = try await watcher.told(until: .sensor)
        hasRoom.withLock { $0 = false }
        let app = visit("/usr/bin/app")
        for _ in 0..<3 { try await replace(app, nil) }
        world.desk.watchers.tell(.lockout)
        hasRoom.withLock { $0 = true }
        #expect(try await watcher.told(until: .lockout) == [.items, .items, .items])
    }
}
