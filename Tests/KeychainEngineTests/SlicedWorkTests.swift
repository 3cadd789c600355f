import Foundation
import GRDB
import KeychainModel
import Primitives
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("Changed data of a protected item is told without opening it")
struct ProtectedDataTests {
    static let controls: [AccessControlFlags] = [
        [], .userPresence, .devicePasscode, .biometryAny, .applicationPassword,
    ]

    @Test(
        "one changed bit anywhere in an item's sealed data, under each access control",
        arguments: [40, 2048, 3000]
    )
    func changedData(count: Int) async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        let password = ApplicationPassword(.text("application"))
        for (number, flags) in Self.controls.enumerated() {
            let control = try AccessControl(accessibility: .whenUnlocked, flags: flags)
            try await engine.add(
                "account \(number)",
                String(repeating: "s", count: count),
                control,
                password: flags.contains(.applicationPassword) ? password : nil
            )
        }
        #expect(await engine.check().isWell)
        await engine.close()
        // The nonce, the first and the last byte of the text, one in the middle, the authentication tag.
        let places = [0, 11, 12, 12 + count / 2, 12 + count - 1, 12 + count, 12 + count + 15]
        for number in Self.controls.indices {
            for place in CaseSize.of(
                places,
                full: Array(stride(from: 0, to: 12 + count + 16, by: 37)) + places
            ) {
                let copy = try keychain.copy()
                let queue = try DatabaseQueue(path: copy.file("items.sqlite"))
                try await queue.writeWithoutTransaction { database in
                    let data = try Data.fetchOne(
                        database,
                        sql: "SELECT data FROM items WHERE id = ?",
                        arguments: [number + 1]
                    )
                    var changed = try #require(data)
                    changed[place] ^= 1 << UInt8(place % 8)
                    try database.execute(
                        sql: "UPDATE items SET data = ? WHERE id = ?",
                        arguments: [changed, number + 1]
                    )
                    try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
                }
                try queue.close()
                unsafe chmod(copy.file("items.sqlite"), 0o600)
                let next = try await copy.restart()
                let report = await next.check()
                #expect(report.damaged == 1, "\(Self.controls[number]) byte \(place)")
                #expect(report.items == Self.controls.count - 1)
                #expect(copy.audit.kinds.contains(.tamperDetected))
                let key = try await next.key(TestKeychain.passcode)
                let proof = Proofs.of(AccessControl(accessibility: .whenUnlocked), [.passcode], key: key)
                let repair = try await next.repair(proof: proof, accepting: false)
                #expect(repair.items.map(\.finding) == [.damaged])
                #expect(repair.kept == Self.controls.count - 1)
                await next.close()
            }
        }
    }
}

@Suite("A store whose items have no digest of their data opens, and gets them as the items change")
struct FormerDataTests {
    @Test("of format 2: all items are there, a change converts the file and covers the item's data")
    func upgraded() async throws {
        let keychain = TestKeychain()
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        do {
            let (engine, _) = try await keychain.setUp()
            for number in 0..<40 { try await engine.add("account \(number)", "secret \(number)", control) }
            try engine.items.makeFormer()
            await engine.close()
        }
        #expect(try keychain.octets("items.sqlite")[60..<64].elementsEqual([0, 0, 0, 2]))
        for round in 0..<2 {
            let engine = try await keychain.restart()
            let key = try await engine.key(TestKeychain.passcode)
            let proofs = [Proofs.of(control, [.passcode], key: key)]
            for number in 0..<40 {
                let wanted = round == 1 && number == 7 ? "changed" : "secret \(number)"
                #expect(try await engine.secret("account \(number)", proofs: proofs) == wanted)
            }
            #expect(await engine.check().isWell)
            if round == 0 { _ = try await engine.update("account 7", secret: "changed", proofs: proofs) }
            await engine.close()
            #expect(try keychain.octets("items.sqlite")[60..<64].elementsEqual([0xFF, 0xFB, 0, 4]))
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
        try keychain.edit { database in
            try database.execute(sql: "UPDATE items SET data = zeroblob(length(data)) WHERE id = 8")
        }
        let engine = try await keychain.restart()
        #expect(await engine.check().damaged == 1)
    }
}

extension SealedItems {
    /// Writes the items as format 2 did.
    fileprivate func makeFormer() throws {
        try withState { state in
            let context = try keys.context()
            let store = try #require(state.store)
            try store.changeSet(context) {
                for id in store.itemSet.tags.rows {
                    var sealed: (attributes: [UInt8], reference: [UInt8])?
                    try ItemRow.forRow(id, store.database) { row in
                        sealed = try row.open(in: context) { header in
                            let reference = unsafe Array(row.reference)
                            let opened = unsafe Array(header.header) + Array(header.attributes)
                            let binding = context.binding(of: .attributes, reference)
                            let attributes = unsafe opened.withUnsafeBytes {
                                unsafe AEAD.seal($0, with: context.metadata, authenticating: binding)
                            }
                            return (attributes, reference)
                        }
                    }
                    let statement = try store.database.statement(
                        "UPDATE items SET attributes = ? WHERE id = ?"
                    )
                    statement.bind(1, try #require(sealed).attributes)
                    statement.bind(2, id)
                    try statement.run()
                    _ = try ItemRow.forEach(store.database, after: id - 1, atMost: 1) { row in
                        store.itemSet.tags.set(try row?.tag(store.database, context), row: id)
                    }
                }
                return true
            }
            let digest = try #require(store.itemSet.digest)
            try store.database.transaction {
                try store.database.set(version: 2)
                let statement = try store.database.statement("UPDATE item_set SET sealed = ? WHERE id = ?")
                statement.bind(
                    1,
                    digest.sealed(with: context.setRecord, storeID: context.storeID, version: 2)
                )
                statement.bind(2, Int64.max)
                try statement.run()
                return true
            }
        }
    }
}

extension TestKeychain {
    /// Changes the items file from outside; no daemon runs.
    fileprivate func edit(_ body: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            try body(database)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(file("items.sqlite"), 0o600)
    }
}

@Suite("Long work on the items lets others have their turn", .serialized)
struct SlicedWorkTests {
    private static let count = CaseSize.of(1500, full: 100_000)

    /// A keychain with many items.
    private func filled() async throws -> OldKeychain {
        let old = try await OldKeychain()
        let threads = 16
        let done = Guarded(0)
        for thread in 0..<threads {
            let engine = old.engine
            Thread.detachNewThread {
                for number in stride(from: thread, to: Self.count, by: threads) {
                    let item = NewItem(
                        itemClass: .genericPassword,
                        attributes: [.account: .string("account \(number)"), .service: .string("tests")],
                        accessControl: AccessControl(accessibility: .whenUnlocked),
                        data: .text("secret \(number)"),
                        returns: []
                    )
                    _ = try? engine.items.add(item, group: .ours, authorization: ItemAuthorization())
                }
                done.withLock { $0 += 1 }
            }
        }
        try await Deadline.wait(for: "the items", atMost: .seconds(600)) {
            done.withLock { $0 == threads } ? true : nil
        }
        return old
    }

    /// Reads another item again and again on a thread of its own while `work` runs.
    ///
    /// - Returns: how long each read waited, and the result of the work.
    private func waits<R: Sendable>(
        of engine: KeychainEngine,
        in group: AccessGroup = .ours,
        during work: () async throws -> R
    ) async throws -> ([Duration], R) {
        try await engine.add("reader", "steady", group: group)
        let waits = Guarded<[Duration]>([])
        let isDone = Guarded(false)
        let hasEnded = Guarded(false)
        Thread.detachNewThread {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.account: .string("reader"), .service: .string("tests")],
                returns: .data
            )
            while !isDone.withLock({ $0 }) {
                let start = ContinuousClock.now
                guard
                    (try? engine.items.copy(
                        query,
                        groups: [group],
                        authorization: ItemAuthorization(),
                        after: nil
                    ))
                        != nil
                else { break }
                let wait = ContinuousClock.now - start
                waits.withLock { $0.append(wait) }
            }
            hasEnded.withLock { $0 = true }
        }
        let _: Bool = try await Deadline.wait(for: "a read") { waits.withLock { !$0.isEmpty } ? true : nil }
        let before = waits.withLock { $0.count }
        let result = try await work()
        let during = waits.withLock { Array($0.dropFirst(before)) }
        isDone.withLock { $0 = true }
        let _: Bool = try await Deadline.wait(for: "the reader") { hasEnded.withLock { $0 } ? true : nil }
        return (during, result)
    }

    /// How long the longest read may wait is a row of the benchmark (`waits`): here other tests use the processors too.
    private func expectTurns(_ waits: [Duration], _ what: String) {
        #expect(waits.count > 3, "\(what): \(waits.count) reads")
        print("\(what): \(waits.count) reads, the longest waited \(waits.max() ?? .zero)")
    }

    @Test(
        "check, export, an erasure and a deletion of all items, among reads",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func turns() async throws {
        let old = try await filled()
        let engine = old.engine
        let (checkWaits, report) = try await waits(of: engine) { engine.items.check() }
        #expect(report.isWell, "\(report)")
        #expect(report.items == Self.count + 1)
        expectTurns(checkWaits, "check")
        try await engine.delete("reader")

        let key = try await engine.key(TestKeychain.passcode)
        let proof = Proofs.of(AccessControl(accessibility: .whenUnlocked), [.passcode], key: key)
        let (repairWaits, repair) = try await waits(of: engine) {
            try await engine.repair(proof: proof, accepting: true)
        }
        #expect(repair.isWell && repair.kept == Self.count + 1)
        expectTurns(repairWaits, "repair")
        try await engine.delete("reader")

        let (exportWaits, items) = try await waits(of: engine) { try await old.export().report.items }
        #expect(items == Self.count + 1)
        expectTurns(exportWaits, "export")

        let (eraseWaits, erasure) = try await waits(of: engine, in: .theirs) {
            try await engine.erase(ItemQuery(itemClass: .genericPassword), secret: "secret")
        }
        #expect(erasure == Erasure(unknown: Self.count + 1))
        expectTurns(eraseWaits, "erase")
        try await engine.delete("reader", groups: [.theirs])

        let (deleteWaits, deleted) = try await waits(of: engine, in: .theirs) {
            try await engine.delete(ItemQuery(itemClass: .genericPassword), groups: [.ours])
        }
        #expect(deleted == Self.count + 1)
        expectTurns(deleteWaits, "delete")
        #expect(await engine.check().items == 1)
    }

    @Test("a backup has exactly the items that were there at its begin, whatever is changed meanwhile")
    func snapshot() async throws {
        let old = try await filled()
        let engine = old.engine
        let isDone = Guarded(false)
        let changes = Guarded(0)
        let (exported, changed) = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Newest first: the export comes to them last.
                for number in (0..<Self.count).reversed() where !isDone.withLock({ $0 }) {
                    switch number % 3 {
                    case 0: try await engine.delete("account \(number)")
                    case 1: _ = try await engine.update("account \(number)", secret: "changed")
                    default: try await engine.add("added \(number)", "new")
                    }
                    changes.withLock { $0 += 1 }
                }
            }
            // Others may have the processors first.
            try await Deadline.wait(for: "a change") { changes.withLock { $0 > 0 } ? true : nil }
            let export = try await old.export()
            isDone.withLock { $0 = true }
            try await group.waitForAll()
            return (export, changes.withLock { $0 })
        }
        #expect(changed > 0)
        #expect(exported.report.isSetAuthentic)
        let there = TestKeychain()
        let next = try there.start()
        let count = try await next.setUp(from: exported.octets(), code: old.code)
        let found = try await next.all(returns: [.data, .attributes])
        #expect(found.count == count)
        let values = Dictionary(
            uniqueKeysWithValues: found.compactMap { item -> (String, String)? in
                guard case .string(let account)? = item.attributes?[.account] else { return nil }
                return (account, item.text ?? "")
            }
        )
        // The changes that were made before a moment, and none that was made after it.
        let isChanged = (0..<Self.count).reversed().map { number in
            switch number % 3 {
            case 0: values["account \(number)"] == nil
            case 1: values["account \(number)"] == "changed"
            default: values["added \(number)"] == "new"
            }
        }
        #expect(!isChanged.drop { $0 }.contains(true))
        #expect(isChanged.count { $0 } < changed)
        #expect(await engine.check().isWell)
    }
}
