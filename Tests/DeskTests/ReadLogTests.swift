import CBOR
import Desk
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// The cells: what was read, and what was not; once, again, between others; who may look it up; after a restart, when it is old, and
/// where nothing is kept; locked, where names are hidden then; more than there is room for.
@Suite("Records of reads", .timeLimit(.minutes(5)))
struct ReadLogTests {
    private static let shell = "dash (sh), node (agent)"

    /// A program that was started by others.
    private static func asker(_ program: String = "/usr/bin/app") -> Asker {
        ClientIdentity(ownProgram: DeskWorld.command)
            .asker(
                uid: 1000,
                pid: 4711,
                processStart: 1,
                program: program,
                isStill: { true },
                startedBy: { shell }
            )
    }

    private static let command = asker(DeskWorld.command)
    private static let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "a test")

    private static func query(_ service: String? = nil, returns: ItemQuery.Returns = .data) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: service.map { [.service: .string($0)] } ?? [:],
            limit: .all,
            returns: returns
        )
    }

    private static func read(
        _ query: ItemQuery,
        by asker: Asker = asker(),
        at world: DeskWorld
    ) async throws(KeychainError) {
        let visit = world.desk.visit(by: asker)
        defer { visit.end() }
        _ = try await visit.copy(CopyItems(query: query, prompt: prompt), request: 1) { _, _ in true }
    }

    private static func stored(
        at world: DeskWorld,
        by asker: Asker = command
    ) async throws(KeychainError) -> [SecretRead] {
        let visit = world.desk.visit(by: asker)
        defer { visit.end() }
        var query = query()
        query.attributes[.accessGroup] = .string(AccessGroup.reads.name)
        var reads: [SecretRead] = []
        do throws(KeychainError) {
            let silent = PromptFields(interactionAllowed: false)
            _ = try await visit.copy(CopyItems(query: query, prompt: silent), request: 1) { page, _ in
                let found = try? page.reads()
                reads += found ?? []
                return found != nil
            }
        } catch {
            guard error.status != .itemNotFound else { return [] }
            throw error
        }
        return reads
    }

    @Test("a read has program, what started it, item, count and factors; the same again is counted")
    func reads() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("secret", service: "free")
        try await world.add("secret", service: "guarded", flags: .devicePasscode)
        for _ in 0..<3 { try await Self.read(Self.query("free"), at: world) }
        world.wallClock.withLock { $0 += 1 }
        world.prompter.will(.type(DeskWorld.passcode))
        try await Self.read(Self.query("guarded"), at: world)
        try await Self.read(Self.query("free"), by: Self.asker("/usr/bin/app"), at: world)

        let reads = try await Self.stored(at: world)
        #expect(reads.map(\.name) == ["free", "guarded", "free"])
        #expect(reads.map(\.times) == [3, 1, 1])
        #expect(reads.allSatisfy { $0.method == .read && $0.program == "/usr/bin/app" && $0.process == 4711 })
        #expect(
            reads.allSatisfy { $0.startedBy == Self.shell && $0.group == "/usr/bin/app" && $0.count == 1 }
        )
        #expect(reads.map(\.factors) == [[], [.passcode], []])
        #expect(reads[1].time == reads[0].time + 1 && reads[0].door == nil)
        // Looking it up is no read.
        #expect(try await Self.stored(at: world) == reads)
    }

    @Test("what released no secret is not recorded: attributes, nothing found, a cancelled prompt")
    func nothing() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("secret", service: "guarded", flags: .devicePasscode)
        try await Self.read(Self.query("guarded", returns: .attributes), at: world)
        await #expect(throws: KeychainError.self) { try await Self.read(Self.query("other"), at: world) }
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError.self) { try await Self.read(Self.query("guarded"), at: world) }
        #expect(try await Self.stored(at: world).isEmpty)
    }

    @Test("a read by references names the items, at most eight; one that a client gave up counts what it got")
    func references() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        var references: [PersistentReference] = []
        for number in 0..<10 {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("s"), .account: .string("\(number)")],
                accessControl: AccessControl(accessibility: .afterFirstUnlock),
                data: SecretBytes(copying: Array("secret".utf8)),
                returns: .persistentRef,
                prompt: PromptFields()
            )
            let visit = world.desk.visit(by: Self.asker())
            let added = try await visit.add(item, request: 1)
            references += try added.references()
            visit.end()
        }
        try #require(references.count == 10)
        let visit = world.desk.visit(by: Self.asker())
        let query = ItemQuery(itemClass: nil, limit: .all, returns: .data, references: references)
        _ = try await visit.copy(CopyItems(query: query, prompt: Self.prompt), request: 1) { _, _ in false }
        visit.end()
        let reads = try await Self.stored(at: world)
        #expect(reads.count == 1 && reads.first?.count == 10)
        #expect(reads.first?.references == Array(references.prefix(SecretRead.mostReferences)))
    }

    @Test("a signature is recorded")
    func key() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        let visit = world.desk.visit(by: Self.asker())
        defer { visit.end() }
        let rule = AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly)
        let key = try await visit.makeKey(MakeKey(accessControl: rule, prompt: PromptFields()), request: 1)
        let digest = [UInt8](repeating: 7, count: 32)
        let use = UseKey(representation: key.representation, use: .sign(digest: digest), prompt: Self.prompt)
        _ = try await visit.useKey(use, request: 2)
        let reads = try await Self.stored(at: world)
        #expect(reads.count == 1 && reads.first?.method == .sign && reads.first?.group == "/usr/bin/app")
    }

    @Test("only the command looks records up; it finds them in no other search, and nobody changes them")
    func others() async throws {
        let world = try DeskWorld()
        try await world.setUp()
        try await world.add("secret", service: "free")
        try await Self.read(Self.query("free"), at: world)
        #expect(try await Self.stored(at: world).count == 1)
        await #expect(throws: KeychainError(.missingEntitlement)) {
            try await Self.stored(at: world, by: Self.asker())
        }
        for asker in [Self.command, Self.asker()] {
            let visit = world.desk.visit(by: asker)
            defer { visit.end() }
            var query = Self.query()
            query.attributes[.accessGroup] = .string(AccessGroup.reads.name)
            await #expect(throws: KeychainError(.missingEntitlement)) {
                try await visit.delete(DeleteItems(query: query, prompt: PromptFields()))
            }
            await #expect(throws: KeychainError(.missingEntitlement)) {
                try await visit.update(
                    UpdateItems(
                        query: query,
                        attributes: [.label: .string("x")],
                        accessControl: nil,
                        data: nil,
                        prompt: PromptFields()
                    ),
                    request: 1
                )
            }
            await #expect(throws: KeychainError(.missingEntitlement)) {
                _ = try await visit.add(
                    AddItem(
                        itemClass: .genericPassword,
                        attributes: query.attributes,
                        accessControl: AccessControl(accessibility: .afterFirstUnlock),
                        data: nil,
                        prompt: PromptFields()
                    ),
                    request: 2
                )
            }
        }
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await Self.read(Self.query(returns: .attributes), by: Self.command, at: world)
        }
        let visit = world.desk.visit(by: Self.command)
        defer { visit.end() }
        #expect(try await visit.apps().owners.map(\.group.name) == ["/usr/bin/app"])
        for (from, to) in [(AccessGroup.reads, "touchstone"), ("/usr/bin/app", AccessGroup.reads)]
            as [(Any, Any)]
        {
            func group(_ one: Any) throws -> AccessGroup {
                try #require(one as? AccessGroup ?? (one as? String).flatMap { AccessGroup($0) })
            }
            let move = MoveItems(
                from: try group(from),
                to: try group(to),
                isDryRun: false,
                prompt: Self.prompt
            )
            await #expect(throws: KeychainError(.param)) { try await visit.move(move, request: 3) }
        }
    }

    /// A run of the daemon on a keychain.
    private func run(
        at path: String,
        days: Int64,
        keepsReads: Duration = .seconds(30 * 86_400),
        _ body: (DeskWorld) async throws -> Void
    ) async throws {
        let world = try DeskWorld(at: path, keepsReads: keepsReads)
        world.wallClock.withLock { $0 += days * 86_400_000_000 }
        if days == 0 {
            try await world.setUp()
        } else {
            world.prompter.will(.type(DeskWorld.passcode))
            let visit = world.desk.visit(by: Self.command)
            try await visit.unlock(Self.prompt)
            visit.end()
        }
        try await body(world)
        await world.reads.store()
        await world.engine.close()
    }

    @Test("records outlive the daemon, and end after their time")
    func time() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.appending("keychain")
        try await run(at: path, days: 0) { world in
            try await world.add("secret", service: "free")
            try await Self.read(Self.query("free"), at: world)
            #expect(try await Self.stored(at: world).count == 1)
            world.wallClock.withLock { $0 += 29 * 86_400_000_000 }
            // Stored at the end alone.
            try await Self.read(Self.query("free"), at: world)
        }
        try await run(at: path, days: 29) { world in
            let reads = try await Self.stored(at: world)
            #expect(reads.count == 2)
        }
        try await run(at: path, days: 31) { world in
            let reads = try await Self.stored(at: world)
            #expect(reads.count == 1)
        }
        // A user who wants none has none of before either.
        try await run(at: path, days: 31, keepsReads: .zero) { world in
            try await Self.read(Self.query("free"), at: world)
            #expect(try await Self.stored(at: world).isEmpty)
        }
        try await run(at: path, days: 31) { world in
            let reads = try await Self.stored(at: world)
            #expect(reads.isEmpty)
        }
    }

    @Test("where a locked keychain hides names, records wait for the unlock and are not looked up before")
    func hidden() async throws {
        let world = try DeskWorld(hidesNamesWhileLocked: true)
        try await world.setUp()
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.service: .string("night")],
            accessControl: AccessControl(accessibility: .afterFirstUnlock),
            data: SecretBytes(copying: Array("secret".utf8)),
            prompt: PromptFields()
        )
        let visit = world.desk.visit(by: Self.asker())
        defer { visit.end() }
        _ = try await visit.add(item, request: 1)
        try await Self.read(Self.query("night"), at: world)
        #expect(try await Self.stored(at: world).map(\.times) == [1])
        try await visit.lock()
        try await Self.read(Self.query("night"), at: world)
        await #expect(throws: KeychainError.self) { try await Self.stored(at: world) }
        world.prompter.will(.type(DeskWorld.passcode))
        try await visit.unlock(Self.prompt)
        #expect(try await Self.stored(at: world).map(\.name) == ["night", "night"])
    }

    @Test("more than there is room for while nothing can be stored are lost, which the log says")
    func full() async throws {
        let journal = Journal()
        let world = try DeskWorld(hidesNamesWhileLocked: true, audit: journal)
        try await world.setUp()
        let visit = world.desk.visit(by: Self.asker())
        defer { visit.end() }
        for number in 0..<2 {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: [.service: .string("s\(number)")],
                accessControl: AccessControl(accessibility: .afterFirstUnlock),
                data: SecretBytes(copying: Array("secret".utf8)),
                prompt: PromptFields()
            )
            _ = try await visit.add(item, request: 1)
        }
        try await visit.lock()
        for _ in 0..<2049 {
            for number in 0..<2 { try await Self.read(Self.query("s\(number)"), at: world) }
        }
        world.prompter.will(.type(DeskWorld.passcode))
        try await visit.unlock(Self.prompt)
        #expect(try await Self.stored(at: world).count == 4096)
        #expect(journal.details == ["2 records of reads are lost"])
    }
}

/// Keeps the details of events.
private final class Journal: AuditLog {
    private let kept = Guarded<[String]>([])
    var details: [String] { kept.withLock(\.self) }

    func record(_ event: AuditEvent) { kept.withLock { $0.append(event.detail) } }
}

extension EncodedItems {
    /// The records in the items' data.
    fileprivate borrowing func reads() throws -> [SecretRead] {
        try fields(ItemField.data).flatMap { try SecretReads($0.span).reads }
    }

    fileprivate borrowing func references() throws -> [PersistentReference] {
        try fields(ItemField.reference).compactMap { PersistentReference(octets: $0) }
    }

    private borrowing func fields(_ wanted: UInt64) throws -> [[UInt8]] {
        let count = count
        return try octets.withOctets { octets in
            try CBORReader.read(octets) { reader throws(CBORError) in
                var found: [[UInt8]] = []
                for _ in 0..<count {
                    for _ in 0..<(try reader.readMapHead()) {
                        if try reader.readUnsigned() == wanted {
                            found.append(try reader.readBytes())
                        } else {
                            try reader.skipValue()
                        }
                    }
                }
                return found
            }
        }
    }
}
