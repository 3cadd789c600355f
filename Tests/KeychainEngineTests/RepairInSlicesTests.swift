import Foundation
import GRDB
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A repair lets others use the items meanwhile, and keeps what they change", .serialized)
struct RepairInSlicesTests {
    enum Damage: String, CaseIterable {
        /// The data of one item.
        case data
        /// The data of one item, and a missing row; SQLite reads all others.
        case rows
        /// A page of an index, so that the rows are looked for on the pages.
        case index
        /// The record of the set, without which nothing is read or changed.
        case record
        /// The log, without which nothing is opened.
        case log

        /// The accounts whose items are lost.
        var lost: Set<String> {
            switch self {
            case .data: ["account 5"]
            case .rows: ["account 5", "account 7"]
            case .index, .record, .log: []
            }
        }
    }

    private static let count = CaseSize.of(600, full: 20_000)
    /// The accounts before this number are changed by nobody.
    private static let firstChanged = 10

    private static let initial = Dictionary(
        uniqueKeysWithValues: (0..<count).map { ("account \($0)", "secret \($0)") }
    )

    /// A closed keychain with damaged items.
    private func damaged(_ damage: Damage) async throws -> TestKeychain {
        let source = TestKeychain(purgeDelay: TestKeychain.never)
        let (engine, _) = try await source.setUp()
        for number in 0..<Self.count { try await engine.add("account \(number)", "secret \(number)") }
        guard damage == .log else {
            await engine.close()
            let keychain = try source.copy()
            try change(keychain, damage)
            return keychain
        }
        let keychain = try source.copy()
        await engine.close()
        let mark = try #require(LogMark(try keychain.octets("items.sqlite-mark")))
        var log = try keychain.octets("items.sqlite-wal")
        log[32 + (mark.end - 32) / 1048 / 2 * 1048 + 900] ^= 4
        try keychain.write(log, to: "items.sqlite-wal")
        return keychain
    }

    private func change(_ keychain: TestKeychain, _ damage: Damage) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        let root = try queue.writeWithoutTransaction { database -> Int? in
            switch damage {
            case .data, .rows:
                try database.execute(sql: "UPDATE items SET data = zeroblob(length(data)) WHERE id = 6")
                if damage == .rows { try database.execute(sql: "DELETE FROM items WHERE id = 8") }
            case .record:
                try database.execute(sql: "UPDATE item_set SET sealed = randomblob(76) WHERE id > 100000")
            case .index, .log: break
            }
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'items_label'"
            return try Int.fetchOne(database, sql: sql)
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
        guard damage == .index else { return }
        var octets = try keychain.octets("items.sqlite")
        let page = try #require(root) - 1
        octets.replaceSubrange((page * 1024)..<(page * 1024 + 1024), with: repeatElement(0, count: 1024))
        try keychain.write(octets, to: "items.sqlite")
    }

    private func proof(_ engine: KeychainEngine) async throws -> AuthenticationProof {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        return Proofs.of(control, [.passcode], key: try await engine.key(TestKeychain.passcode))
    }

    /// Whether a repair has begun to write files, and has not ended.
    private static func isUnfinished(_ keychain: TestKeychain) -> Bool {
        ["items.sqlite.new", "items.sqlite.saved"].contains { name in
            unsafe access(keychain.file(name), F_OK) == 0
        }
    }

    /// Repeats `work`, with a number that counts up, on a thread of its own while `body` runs.
    private func repeating<R>(
        _ work: @escaping @Sendable (Int) -> Void,
        while body: () async throws -> R
    ) async throws -> R {
        let isDone = Guarded(false)
        let turns = Guarded(0)
        let hasEnded = Guarded(false)
        Thread.detachNewThread {
            while !isDone.withLock({ $0 }) {
                work(turns.withLock { $0 })
                turns.withLock { $0 += 1 }
            }
            hasEnded.withLock { $0 = true }
        }
        try await Deadline.wait(for: "a turn") { turns.withLock { $0 > 0 } ? true : nil }
        let result: R
        do {
            result = try await body()
        } catch {
            isDone.withLock { $0 = true }
            throw error
        }
        isDone.withLock { $0 = true }
        try await Deadline.wait(for: "the thread") { hasEnded.withLock { $0 } ? true : nil }
        return result
    }

    private static func query(_ account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.account: .string(account), .service: .string("tests")],
            returns: .data
        )
    }

    private func values(_ engine: KeychainEngine) async throws -> [String: String] {
        try await engine.all(returns: [.data, .attributes]).reduce(into: [:]) { values, item in
            guard case .string(let account)? = item.attributes?[.account] else { return }
            values[account] = item.text
        }
    }

    @Test("look-ups are answered while a repair is unfinished", arguments: Damage.allCases)
    func lookUps(_ damage: Damage) async throws {
        let keychain = try await damaged(damage)
        let engine = try await keychain.restart()
        let proof = try await proof(engine)
        let answered = Guarded(0)
        let repair = try await repeating { number in
            let isBegun = Self.isUnfinished(keychain)
            // While nothing can be read, that is the answer.
            do {
                _ = try engine.items.copy(
                    Self.query("account \(10 + number % 50)"),
                    groups: [.ours],
                    authorization: ItemAuthorization(),
                    after: nil
                )
            } catch {}
            if isBegun, Self.isUnfinished(keychain) { answered.withLock { $0 += 1 } }
        } while: {
            try await engine.repair(proof: proof, accepting: true)
        }
        #expect(answered.withLock { $0 } >= 3)
        #expect(repair.keptAside == "items.sqlite.damaged-1")
        #expect(repair.kept == Self.count - damage.lost.count || damage == .log, "\(repair.kept)")
        let found = try await values(engine)
        let wanted = Self.initial.filter { !damage.lost.contains($0.key) }
        #expect(found == wanted || damage == .log && found.allSatisfy { wanted[$0.key] == $0.value })
        #expect(await engine.check().isWell)
        #expect(await engine.storeFaults() == [])
    }

    /// Items that a thread adds, changes and deletes, and what must be there afterwards.
    private final class Changes: Sendable {
        struct Seen {
            var values: [String: String]
            var refused = 0
            /// How many of each kind were acknowledged while a repair was unfinished.
            var during = [0, 0, 0]
        }

        let seen: Guarded<Seen>

        init(_ values: [String: String]) { seen = Guarded(Seen(values: values)) }

        /// Makes a change.
        func make(_ number: Int, _ engine: KeychainEngine, _ keychain: TestKeychain) {
            let isBegun = RepairInSlicesTests.isUnfinished(keychain)
            let old = "account \(RepairInSlicesTests.firstChanged + number)"
            let kind = seen.withLock { $0.values[old] == nil } ? 0 : number % 3
            let (account, value): (String, String?) =
                switch kind {
                case 0: ("added \(number)", "new \(number)")
                case 1: (old, "changed \(number)")
                default: (old, nil)
                }
            do {
                switch kind {
                case 0:
                    let item = NewItem(
                        itemClass: .genericPassword,
                        attributes: [.account: .string(account), .service: .string("tests")],
                        accessControl: AccessControl(accessibility: .whenUnlocked),
                        data: value.asSecret(),
                        returns: []
                    )
                    _ = try engine.items.add(item, group: .ours, authorization: ItemAuthorization())
                case 1:
                    _ = try engine.items.update(
                        RepairInSlicesTests.query(account),
                        groups: [.ours],
                        changes: ItemChanges(attributes: [:], accessControl: nil, data: value.asSecret()),
                        authorization: ItemAuthorization()
                    )
                default: _ = try engine.items.delete(RepairInSlicesTests.query(account), groups: [.ours])
                }
            } catch {
                return seen.withLock { $0.refused += 1 }
            }
            let isDuring = isBegun && RepairInSlicesTests.isUnfinished(keychain)
            seen.withLock { seen in
                seen.values[account] = value
                if isDuring { seen.during[kind] += 1 }
            }
        }
    }

    @Test(
        "what is added, changed and deleted during a repair is so afterwards, also after a kill",
        arguments: [Damage.rows, .index],
        [true, false]
    )
    func changes(_ damage: Damage, accepting: Bool) async throws {
        let keychain = try await damaged(damage)
        let engine = try await keychain.restart()
        let proof = try await proof(engine)
        let changes = Changes(Self.initial.filter { !damage.lost.contains($0.key) })
        let repair = try await repeating {
            changes.make($0, engine, keychain)
        } while: {
            try await engine.repair(proof: proof, accepting: accepting)
        }
        #expect((repair.keptAside != nil) == accepting)
        #expect(repair.missing == (damage == .rows ? 1 : 0), "\(repair.missing)")
        #expect(repair.items.map(\.finding) == (damage == .rows ? [.damaged] : []))
        let seen = changes.seen.withLock { $0 }
        #expect(seen.refused == 0)
        if accepting {
            #expect(seen.during.allSatisfy { $0 > 0 }, "\(seen.during)")
        } else {
            // Nothing was repaired, and what others changed is no damage.
            let again = try await engine.repair(proof: proof, accepting: true)
            #expect(again.items == repair.items && again.missing == repair.missing)
            #expect(again.kept == seen.values.count)
        }
        // The daemon goes on, is killed, and ends.
        #expect(try await values(engine) == seen.values)
        try await engine.add("last", "last")
        let expected = seen.values.merging(["last": "last"]) { $1 }
        let killed = try keychain.copy()
        await engine.close()
        for keychain in [killed, try keychain.copy()] {
            let next = try await keychain.restart()
            #expect(try await values(next) == expected)
            #expect(await next.check().isWell)
            #expect(await next.storeFaults() == [])
            await next.close()
        }
    }

    /// Repairs copies of a keychain until `body` was called with the items' state while the new file was written: the
    /// repair of a few items can be over before it is seen.
    private func whileWriting(
        _ source: TestKeychain,
        _ body: (inout SealedItems.State, ItemContext) throws -> Void
    ) async throws -> (TestKeychain, KeychainEngine, Result<StoreRepair, any Error>) {
        for _ in 0..<100 {
            let keychain = try source.copy()
            let engine = try await keychain.restart()
            let proof = try await proof(engine)
            let context = try engine.items.keys.context()
            let (repairing, isOver) = beginRepair(engine, proof)
            var isMet = false
            while !isMet, !isOver.withLock({ $0 }) {
                isMet = try engine.items.withState { state in
                    guard state.isRepairing, unsafe access(keychain.file("items.sqlite.new"), F_OK) == 0
                    else { return false }
                    try body(&state, context)
                    return true
                }
                await Task.yield()
            }
            let result = await repairing.result
            if isMet { return (keychain, engine, result) }
            await engine.close()
        }
        throw TestKitError.unexpected("100 repairs were over before they were seen")
    }

    /// A repair under way, and whether it is over.
    private func beginRepair(
        _ engine: KeychainEngine,
        _ proof: AuthenticationProof
    ) -> (Task<StoreRepair, any Error>, Guarded<Bool>) {
        let isOver = Guarded(false)
        let repairing = Task {
            defer { isOver.withLock { $0 = true } }
            return try await engine.repair(proof: proof, accepting: true)
        }
        return (repairing, isOver)
    }

    @Test("with the only damaged item deleted meanwhile, nothing is wrong any more, and nothing is replaced")
    func deletedMeanwhile() async throws {
        let (keychain, engine, result) = try await whileWriting(try await damaged(.data)) { state, context in
            let search = try ItemSearch(Self.query("account 5"), groups: [.ours], in: context)
            let write = PendingWrite(.delete(ItemDeletion(search)))
            state.store?.commit([write], context)
            #expect(write.hasChanged)
        }
        let repair = try result.get()
        #expect(repair.isWell && repair.keptAside == nil && repair.kept == Self.count - 1, "\(repair)")
        #expect(!Self.isUnfinished(keychain))
        #expect(await engine.check().isWell)
        #expect(try await values(engine) == Self.initial.filter { $0.key != "account 5" })
    }

    @Test("a repair ends without a change if the items are opened again meanwhile, and can be repeated")
    func openedAgain() async throws {
        let (keychain, engine, result) = try await whileWriting(try await damaged(.rows)) { state, _ in
            state.store?.needsReopening = true
        }
        let error = #expect(throws: KeychainError.self) { try result.get() }
        #expect(error?.status == .notAvailable && error?.remedy == .retry)
        #expect(!Self.isUnfinished(keychain))
        #expect(try await engine.secret("account 20") == "secret 20")
        let proof = try await proof(engine)
        #expect(try await engine.repair(proof: proof, accepting: true).keptAside == "items.sqlite.damaged-1")
        #expect(await engine.check().isWell)
    }

    @Test("a damaged index without entries is found, also if requests interrupt SQLite's check each time")
    func interruptedCheck() async throws {
        let keychain = try await damaged(.index)
        let engine = try await keychain.restart()
        try engine.items.withState { state in
            let store = try #require(state.store)
            var structure = StructureCheck()
            let error = #expect(throws: KeychainError.self) {
                while !structure.isDone { try structure.run(on: store) { true } }
            }
            #expect(error?.status == .decode)
            #expect(structure.faults == nil, "it was not interrupted")
        }
        await engine.close()
    }

    @Test(
        "a lock is answered during a repair, which ends without a change",
        arguments: [Damage.rows, .index]
    )
    func lock(_ damage: Damage) async throws {
        let source = try await damaged(damage)
        // The repair may end before the lock is heard.
        for _ in 0..<100 {
            let keychain = try source.copy()
            let engine = try await keychain.restart()
            let proof = try await proof(engine)
            let before = try keychain.octets("items.sqlite")
            let (repairing, isOver) = beginRepair(engine, proof)
            while !Self.isUnfinished(keychain), !isOver.withLock({ $0 }) { await Task.yield() }
            await engine.lock()
            guard case .failure(let error as KeychainError) = await repairing.result else {
                await engine.close()
                continue
            }
            #expect(error.status == .interactionNotAllowed)
            #expect(!Self.isUnfinished(keychain))
            #expect(try keychain.octets("items.sqlite") == before)
            await #expect(throws: KeychainError(.interactionNotAllowed)) {
                try await engine.secret("account 20")
            }
            _ = try await engine.key(TestKeychain.passcode)
            #expect(try await engine.secret("account 20") == "secret 20")
            let repair = try await engine.repair(proof: proof, accepting: true)
            #expect(repair.keptAside == "items.sqlite.damaged-1")
            #expect(try await values(engine).count == Self.count - damage.lost.count)
            return
        }
        Issue.record("no lock was answered during a repair")
    }
}
