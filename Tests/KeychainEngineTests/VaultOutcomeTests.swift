import Foundation
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("What a call about items needs before it is done")
struct VaultOutcomeTests {
    let keychain = TestKeychain()

    private static let plain = AccessControl(accessibility: .whenUnlocked)

    private static func item(
        _ account: String,
        _ control: AccessControl = plain,
        returns: ItemQuery.Returns = []
    ) -> NewItem {
        NewItem(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            accessControl: control,
            data: .text("first"),
            returns: returns
        )
    }

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            returns: .data
        )
    }

    /// An outcome without its value.
    private enum Kind: Equatable {
        case done
        case needsHardware
        case needsUser([AccessControl])
        case needsKey

        init<Value: ~Copyable & Sendable>(_ outcome: consuming VaultOutcome<Value>) {
            switch consume outcome {
            case .done: self = .done
            case .needsHardware: self = .needsHardware
            case .needsUser(let controls): self = .needsUser(controls)
            case .needsKey: self = .needsKey
            }
        }
    }

    private static func add(
        _ account: String,
        _ control: AccessControl = plain,
        to engine: KeychainEngine,
        authorization: ItemAuthorization = ItemAuthorization()
    ) throws -> Kind {
        Kind(try engine.items.add(item(account, control), group: .ours, authorization: authorization))
    }

    private static func copy(
        _ account: String,
        from engine: KeychainEngine,
        groups: [AccessGroup] = [.ours],
        authorization: ItemAuthorization = ItemAuthorization()
    ) throws -> Kind {
        Kind(
            try engine.items.copy(query(account), groups: groups, authorization: authorization, after: nil)
        )
    }

    private static func update(
        _ account: String,
        in engine: KeychainEngine,
        authorization: ItemAuthorization = ItemAuthorization()
    ) throws -> Kind {
        Kind(
            try engine.items.update(
                query(account),
                groups: [.ours],
                changes: ItemChanges(attributes: [:], accessControl: nil, data: .text("second")),
                authorization: authorization
            )
        )
    }

    private static func delete(
        _ account: String,
        from engine: KeychainEngine,
        groups: [AccessGroup] = [.ours]
    ) throws -> Kind {
        Kind(try engine.items.delete(query(account), groups: groups))
    }

    @Test("calls that need nothing are done, durably, for their groups only, and not while locked")
    func done() async throws {
        do {
            let (engine, _) = try await keychain.setUp()
            let item = Self.item("ann", returns: [.persistentRef, .data])
            let page = try await engine.add(item, group: .ours)
            let added = try decode(page).first.required
            #expect(added.text == "first")
            #expect(try await engine.all(references: [added.reference.required]).count == 1)
            #expect(try Self.add("bob", to: engine) == .done)
            #expect(throws: KeychainError(.duplicateItem)) { try Self.add("ann", to: engine) }
            #expect(try Self.copy("ann", from: engine) == .done)
            #expect(throws: KeychainError(.itemNotFound)) { try Self.copy("eve", from: engine) }
            #expect(throws: KeychainError(.itemNotFound)) {
                try Self.copy("ann", from: engine, groups: [.theirs])
            }
            #expect(try Self.update("ann", in: engine) == .done)
            #expect(try Self.delete("bob", from: engine) == .done)
            #expect(throws: KeychainError(.itemNotFound)) { try Self.update("bob", in: engine) }
            #expect(throws: KeychainError(.itemNotFound)) {
                try Self.delete("ann", from: engine, groups: [.theirs])
            }
            await engine.close()
        }
        let engine = try await keychain.restart()
        #expect(try await engine.secret("ann") == "second")
        let report = await engine.check()
        #expect(report.items == 1)
        #expect(report.isSetAuthentic)
        await engine.lock()
        let errors = [
            #expect(throws: KeychainError.self) { try Self.copy("ann", from: engine) },
            #expect(throws: KeychainError.self) { try Self.update("ann", in: engine) },
            #expect(throws: KeychainError.self) { try Self.add("new", to: engine) },
        ]
        for error in errors { #expect(error?.cause == .locked) }
    }

    @Test("a call that needs the user or a derived key says so and changes nothing")
    func needs() async throws {
        let (engine, _) = try await keychain.setUp()
        let presence = try AccessControl(accessibility: .whenUnlocked, flags: .userPresence)
        try await engine.add("ann", "first", presence)
        #expect(try Self.copy("ann", from: engine) == .needsUser([presence]))
        #expect(try Self.update("ann", in: engine) == .needsUser([presence]))
        let password = ItemAuthorization(applicationPassword: ApplicationPassword(.text("password")))
        try await engine.add("bob", "first")
        #expect(try Self.copy("bob", from: engine, authorization: password) == .needsKey)
        #expect(try Self.update("bob", in: engine, authorization: password) == .needsKey)
        #expect(try await engine.secret("bob") == "first")
        let wanted = try AccessControl(accessibility: .whenUnlocked, flags: .applicationPassword)
        #expect(try Self.add("eve", wanted, to: engine, authorization: password) == .needsKey)
        let error = #expect(throws: KeychainError.self) { try Self.add("eve", wanted, to: engine) }
        #expect(error?.status == .authFailed)
        #expect(await engine.check().items == 2)
    }

    @Test("a change for which the hardware must count says so; other changes until then do too")
    func hardware() async throws {
        let (engine, _) = try await keychain.setUp()
        for account in ["ann", "bob", "eve"] { try await engine.add(account) }
        let generation = engine.items.countFromNow()
        #expect(try Self.delete("ann", from: engine) == .needsHardware)
        #expect(engine.items.generation == generation + 1)
        #expect(try Self.delete("bob", from: engine) == .needsHardware)
        #expect(engine.items.generation == generation + 1)
        #expect(try Self.copy("eve", from: engine) == .done)
        engine.items.counted(generation + 1)
        #expect(try Self.delete("eve", from: engine) == .done)
        let report = await engine.check()
        #expect(report.items == 0)
        #expect(report.isSetAuthentic)
    }

    @Test("an item sealed before the keys changed is sealed again with the present ones")
    func stale() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        let former = try #require(engine.items.sealing.withLock { $0 })
        #expect(try await engine.observe(Self.twoFingers).changed)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
        // What another thread sealed at that moment is not committed.
        let sealed = try former.seal(Self.item("old", control), .ours, nil)
        guard case .stale = try engine.items.commit(.add(sealed, in: former.context)).outcome else {
            Issue.record("an item of the former set was committed")
            return
        }
        #expect(try Self.add("new", control, to: engine) == .done)
        let report = await engine.check()
        #expect(report.items == 2)
        #expect(report.invalidated == 0)
        #expect(report.isSetAuthentic)
    }

    private static let twoFingers = Enrolment(
        device: "sensor",
        fingers: ["left-index", "right-index"],
        templateDigest: nil,
        completions: 0
    )

    @Test("during the first unlock a look-up finds the keybag locked, or the item, and nothing else")
    func firstUnlock() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        try await engine?.add("ann")
        for _ in 0..<5 {
            await engine?.close()
            engine = nil
            let fresh = try keychain.start()
            let others = Guarded<[String]>([])
            let found = Guarded(false)
            let ended = Guarded(false)
            Thread.detachNewThread {
                while !found.withLock({ $0 }) {
                    do {
                        _ = try Self.copy("ann", from: fresh)
                        found.withLock { $0 = true }
                    } catch {
                        if (error as? KeychainError)?.cause != .locked {
                            others.withLock { $0.append("\(error)") }
                            break
                        }
                    }
                }
                ended.withLock { $0 = true }
            }
            _ = try await fresh.key(TestKeychain.passcode)
            try await Deadline.wait(for: "the item") { ended.withLock { $0 } ? true : nil }
            #expect(others.withLock { $0 } == [])
            engine = fresh
        }
    }

    @Test("changes of threads that wait for each other are committed together, each with its own result")
    func together() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("taken")
        let done = Guarded<[Int]>([])
        for thread in 0..<16 {
            Thread.detachNewThread {
                let refused = (0..<20).map { run in
                    let account = run % 4 == 0 ? "taken" : "\(thread) \(run)"
                    do {
                        return try Self.add(account, to: engine) != .done
                    } catch {
                        return error as? KeychainError == KeychainError(.duplicateItem)
                    }
                }
                let isExpected = refused == (0..<20).map { $0 % 4 == 0 }
                done.withLock { $0.append(isExpected ? refused.count { $0 } : -1) }
            }
        }
        let counts: [Int] = try await Deadline.wait(for: "16 threads") {
            done.withLock { $0.count == 16 ? $0 : nil }
        }
        #expect(counts.allSatisfy { $0 == 5 })
        let report = await engine.check()
        #expect(report.items == 1 + 16 * 15)
        #expect(report.isSetAuthentic)
    }

    @Test("a thread that gets the items commits what others brought meanwhile in one transaction")
    func oneCommit() async throws {
        let (engine, _) = try await keychain.setUp()
        for account in ["ann", "bob", "eve"] { try await engine.add(account) }
        let before = engine.items.commits
        let context = try engine.items.keys.context()
        let others = try ["ann", "bob"].map { account in
            PendingWrite(
                .delete(ItemDeletion(try ItemSearch(Self.query(account), groups: [.ours], in: context)))
            )
        }
        engine.items.pending.withLock { $0.writes += others }
        #expect(try Self.delete("eve", from: engine) == .done)
        #expect(others.allSatisfy { $0.hasChanged })
        #expect(engine.items.commits == before + 1)
    }

    @Test("a change that fails halfway changes nothing, and the others of its commit are done")
    func failsHalfway() async throws {
        let (engine, _) = try await keychain.setUp()
        for account in ["ann", "bob", "eve"] { try await engine.add(account) }
        let context = try engine.items.keys.context()
        // The first item gets the name, the second cannot have it too.
        let all = ItemQuery(itemClass: .genericPassword, attributes: [.service: .string("tests")])
        let renaming = ItemUpdate(
            search: try ItemSearch(all, groups: [.ours], in: context),
            groups: [.ours],
            changes: Box(ItemChanges(attributes: [.account: .string("zoe")], accessControl: nil, data: nil)),
            authorization: ItemAuthorization(),
            password: nil,
            time: 0
        )
        let ann = ItemDeletion(try ItemSearch(Self.query("ann"), groups: [.ours], in: context))
        let others = [PendingWrite(.delete(ann)), PendingWrite(.update(renaming))]
        engine.items.pending.withLock { $0.writes += others }
        #expect(try Self.add("ida", to: engine) == .done)
        #expect(others[0].hasChanged)
        #expect(throws: KeychainError(.duplicateItem)) { try others[1].result.required.get() }
        for account in ["bob", "eve"] { #expect(try await engine.secret(account) == "secret") }
        #expect(try await engine.secret("ida") == "first")
        for account in ["ann", "zoe"] {
            #expect(throws: KeychainError(.itemNotFound)) { try Self.copy(account, from: engine) }
        }
        let report = await engine.check()
        #expect(report.items == 3)
        #expect(report.isSetAuthentic)
    }

    @Test("look-ups run concurrently with changes")
    func readers() async throws {
        let (engine, _) = try await keychain.setUp()
        try await engine.add("ann")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 0..<8 {
                group.addTask {
                    for index in 0..<20 { try await engine.add("\(client) \(index)") }
                }
                group.addTask {
                    for _ in 0..<200 {
                        let secret = try await engine.secret("ann")
                        #expect(secret == "secret")
                    }
                }
            }
            try await group.waitForAll()
        }
        let report = await engine.check()
        #expect(report.items == 161)
        #expect(report.isSetAuthentic)
    }
}

extension SealedItems {
    /// The generation of the store.
    var generation: UInt64 { withState { $0.store?.itemSet.generation ?? 0 } }

    /// Commits since the generation grew.
    var commits: Int { withState { $0.store?.commitsSinceCount ?? 0 } }

    /// Behaves as if hardware counted, and were due to count with the next change.
    ///
    /// - Returns: the present generation.
    func countFromNow() -> UInt64 {
        withState { state in
            let generation = state.store?.itemSet.generation
            state.countedGeneration = generation
            state.store?.commitsSinceCount = ItemStore.mostUncountedCommits
            return generation ?? 0
        }
    }

    /// Behaves as if the hardware had counted.
    func counted(_ generation: UInt64) { withState { $0.countedGeneration = generation } }
}
