import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("The engine never serves deleted or replaced rows and never reports present items as absent")
struct RowStateTests {
    private static let count = 60
    private static let row = "reference, scope, first, name, second, label, attributes, keys, data"

    private func edit(_ keychain: TestKeychain, _ body: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            try body(database)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }

    /// A closed keychain of 60 items, and a copy of its file from before "account 20" was updated, "account
    /// 21" deleted and "account 22" (which requires the passcode) updated.
    private func prepare(_ keychain: TestKeychain) async throws -> String {
        let key: PasscodeKey
        let passcode = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        do {
            let (engine, opened) = try await keychain.setUp()
            key = opened
            for index in 0..<Self.count {
                let control = index == 22 ? passcode : AccessControl(accessibility: .whenUnlocked)
                try await engine.add("account \(index)", "secret \(index)", control)
            }
            await engine.close()
        }
        let older = keychain.file("older.sqlite")
        try FileManager.default.copyItem(atPath: keychain.file("items.sqlite"), toPath: older)
        do {
            let engine = try await keychain.restart()
            let proof = Proofs.of(passcode, [.passcode], key: key)
            _ = try await engine.update("account 20", secret: "newer 20")
            try await engine.delete("account 21")
            _ = try await engine.update("account 22", secret: "newer 22", proofs: [proof])
            await engine.close()
        }
        return older
    }

    enum Change: String, CaseIterable {
        case removed, emptied, older, olderContent, olderProtected, returned, exchanged, renamed, indexEntry
        /// Rows and their tags from the older file, but the current total.
        case olderWithTags
        /// Only the tags, or only the total.
        case tagsRemoved, tagsExchanged, tagsAdded, olderRecord

        /// The items affected by the change.
        var touched: Set<Int> {
            switch self {
            case .removed, .renamed, .emptied: [10]
            case .older, .olderContent, .olderWithTags: [20]
            case .olderProtected: [22]
            case .tagsRemoved, .tagsExchanged, .tagsAdded, .olderRecord: []
            case .returned, .indexEntry: []
            case .exchanged: [10, 11]
            }
        }

        /// Whether the tags are affected, so that every answer that depends on them is refused.
        var isOfTags: Bool {
            switch self {
            case .olderWithTags, .tagsRemoved, .tagsExchanged, .tagsAdded, .olderRecord: true
            default: false
            }
        }

        var sql: [String] {
            func put(_ id: Int, _ columns: String) -> String {
                "UPDATE items SET (\(columns)) = (SELECT \(columns) FROM older.items WHERE id = \(id)) WHERE id = \(id)"
            }
            return switch self {
            case .emptied: ["UPDATE items SET data = NULL WHERE id = 11"]
            case .removed: ["DELETE FROM items WHERE id = 11"]
            case .older: [put(21, RowStateTests.row)]
            case .olderContent: [put(21, "keys, data")]
            case .olderProtected: [put(23, "keys, data")]
            case .returned: ["INSERT INTO items SELECT * FROM older.items WHERE id = 22"]
            case .exchanged:
                [
                    "CREATE TEMP TABLE t AS SELECT * FROM items WHERE id IN (11, 12)",
                    "UPDATE items SET (\(RowStateTests.row)) = (SELECT \(RowStateTests.row) FROM t WHERE t.id = 23 - items.id) WHERE id IN (11, 12)",
                ]
            case .renamed: ["UPDATE items SET first = randomblob(8), name = randomblob(8) WHERE id = 11"]
            // The row without its index entry, as a flipped bit in the index would leave it.
            case .indexEntry:
                [
                    "PRAGMA writable_schema = ON",
                    "UPDATE sqlite_schema SET sql = 'CREATE INDEX items_scope ON items (scope) WHERE id <> 11' WHERE name = 'items_scope'",
                    "PRAGMA writable_schema = RESET", "REINDEX items_scope", "PRAGMA writable_schema = ON",
                    "UPDATE sqlite_schema SET sql = 'CREATE INDEX items_scope ON items (scope)' WHERE name = 'items_scope'",
                    "PRAGMA writable_schema = OFF",
                ]
            case .tagsRemoved: ["DELETE FROM item_set WHERE id = 1"]
            case .tagsExchanged:
                [
                    "UPDATE item_set SET id = 500 WHERE id = 1", "UPDATE item_set SET id = 1 WHERE id = 2",
                    "UPDATE item_set SET id = 2 WHERE id = 500",
                ]
            case .tagsAdded: ["INSERT INTO item_set SELECT 77, sealed FROM item_set WHERE id = 1"]
            case .olderRecord:
                [
                    "UPDATE item_set SET sealed = (SELECT sealed FROM older.item_set o WHERE o.id = item_set.id) WHERE id > 1000"
                ]
            case .olderWithTags:
                [
                    put(21, RowStateTests.row),
                    "UPDATE item_set SET sealed = (SELECT sealed FROM older.item_set o WHERE o.id = item_set.id) WHERE id = 1",
                ]
            }
        }
    }

    /// Read completely at the first unlock, and with one section for each group.
    private static let sizes: [Int?] = [nil, 1]

    @Test("rows that were restored, removed or exchanged are not served", arguments: Change.allCases, sizes)
    func rows(_ change: Change, groupsInSection: Int?) async throws {
        let keychain = TestKeychain(groupsInSection: groupsInSection)
        let older = try await prepare(keychain)
        try edit(keychain) { database in
            try database.execute(sql: "ATTACH '\(older)' AS older")
            for sql in change.sql { try database.execute(sql: sql) }
            try database.execute(sql: "DETACH older")
        }
        let passcode = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        // A new engine for each item, so that its look-up is the first answer and nothing was compared
        // before.
        for index in [10, 11, 20, 21, 22, 30] {
            let engine = try keychain.start()
            let proof = Proofs.of(passcode, [.passcode], key: try await engine.key(TestKeychain.passcode))
            do {
                let found = try await engine.secret("account \(index)", proofs: [proof])
                #expect(found == (index == 20 || index == 22 ? "newer" : "secret") + " \(index)", "\(index)")
                #expect(index != 21, "a deleted item came back")
            } catch let error as KeychainError {
                if index == 21 {
                    #expect(
                        error == KeychainError(.itemNotFound) || change.isOfTags,
                        "\(index): \(error)"
                    )
                } else {
                    #expect(error == KeychainError(.decode), "\(index): \(error)")
                    #expect(change.touched.contains(index) || change.isOfTags, "\(index) is whole")
                }
            }
            await engine.close()
        }
        // A list is complete or refused, also when an index is used.
        let searches: [ItemAttributes] = [
            [:], [.service: .string("tests")], [.account: .string("account 10")],
        ]
        for attributes in searches {
            let engine = try await keychain.restart()
            do {
                let found = try await engine.all(attributes, returns: [.attributes])
                #expect(found.count == (attributes[.account] != nil ? 1 : Self.count - 1), "\(attributes)")
                #expect(
                    change == .emptied || change == .olderContent || change == .olderProtected
                        || change == .indexEntry,
                    "\(attributes)"
                )
            } catch let error as KeychainError {
                #expect(error == KeychainError(.decode), "\(attributes): \(error)")
            }
            await engine.close()
        }
        // A full check reports the change, also for guarded items.
        let engine = try await keychain.restart()
        let report = await engine.check()
        #expect(!report.isSetAuthentic || report.damaged > 0, "\(report)")
        #expect(keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test(
        "every operation detects the change: reference, attribute, update, add and delete",
        arguments: Change.allCases,
        sizes
    )
    func doors(_ change: Change, groupsInSection: Int?) async throws {
        // A background sweep would find the change before the operation under test.
        let keychain = TestKeychain(groupsInSection: groupsInSection, sweepDelay: TestKeychain.never)
        let older = try await prepare(keychain)
        var references: [Int: PersistentReference] = [:]
        do {
            let engine = try await keychain.restart()
            for index in [10, 20, 30] {
                let found = try await engine.all(
                    [.account: .string("account \(index)")],
                    returns: [.persistentRef]
                )
                references[index] = found.first?.reference
            }
            await engine.close()
        }
        try edit(keychain) { database in
            try database.execute(sql: "ATTACH '\(older)' AS older")
            for sql in change.sql { try database.execute(sql: sql) }
            try database.execute(sql: "DETACH older")
        }
        func value(_ index: Int) -> String { (index == 20 ? "newer" : "secret") + " \(index)" }
        let isUntouched = { (index: Int) in
            !change.isOfTags && !change.touched.contains(index) && !(change == .indexEntry && index == 10)
        }
        for (index, reference) in references {
            let engine = try await keychain.restart()
            do {
                let found = try await engine.all(limit: .one, references: [reference])
                #expect(found.map(\.text) == [value(index)])
            } catch let error as KeychainError {
                #expect(
                    error == KeychainError(.decode) && !isUntouched(index),
                    "reference \(index): \(error)"
                )
            }
            await engine.close()
        }
        do {
            let engine = try await keychain.restart()
            let found = try await engine.all([.service: .string("tests")], limit: .one)
            #expect(found.first?.text == "secret 0")
            await engine.close()
        } catch let error as KeychainError {
            #expect(error == KeychainError(.decode) && change.isOfTags && groupsInSection == nil, "\(error)")
        }
        // An existing item cannot be added again; an absent one may be.
        for index in [10, 20, 30] {
            let engine = try await keychain.restart()
            let error = await #expect(throws: KeychainError.self) {
                try await engine.add("account \(index)", "again")
            }
            let isDamage = error == KeychainError(.decode) && !isUntouched(index)
            #expect(error == KeychainError(.duplicateItem) || isDamage, "add \(index)")
            do {
                let label: ItemAttributes = [.label: .string("x")]
                #expect(try await engine.update("account \(index)", attributes: label) == .updated(1))
                #expect(try await engine.secret("account \(index)") == value(index), "\(change) \(index)")
            } catch let error as KeychainError {
                #expect(error == KeychainError(.decode) && !isUntouched(index), "update \(index): \(error)")
            }
            do {
                #expect(try await engine.delete("account \(index)") == 1)
            } catch let error as KeychainError {
                #expect(error == KeychainError(.decode) && !isUntouched(index), "delete \(index): \(error)")
            }
            await engine.close()
        }
        let engine = try await keychain.restart()
        do {
            try await engine.add("account 21", "new 21")
            #expect(try await engine.secret("account 21") == "new 21")
        } catch let error as KeychainError {
            #expect(error == KeychainError(.decode) && change.isOfTags || change == .returned, "\(error)")
        }
        await engine.close()
    }

    @Test("a row that is changed while the daemon runs is not served")
    func underRunning() async throws {
        let keychain = TestKeychain()
        do {
            let (engine, _) = try await keychain.setUp()
            for index in 0..<400 { try await engine.add("account \(index)", "secret \(index)") }
            await engine.close()
        }
        let before = try keychain.octets("items.sqlite")
        var running: KeychainEngine? = try await keychain.restart()
        _ = try await running?.update("account 203", secret: "newer")
        await running?.close()
        running = nil
        running = try await keychain.restart()
        // Replaces the part that the daemon has not read yet; its lock does not prevent writes by others.
        try keychain.write(before, to: "items.sqlite")
        await #expect(throws: KeychainError(.decode)) { try await running?.secret("account 203") }
        #expect(try await running?.secret("account 30") == "secret 30")
    }

    @Test(
        "updates, additions and deletions of one run are found by the next, in every group of rows",
        arguments: [nil, 1, 2]
    )
    func manyChanges(groupsInSection: Int?) async throws {
        let keychain = TestKeychain(groupsInSection: groupsInSection)
        var expected: [String: String] = [:]
        var coins = SplitMix64(seed: 5)
        do { _ = try await keychain.setUp() }
        for round in 0..<4 {
            let engine = try await keychain.restart()
            for _ in 0..<40 {
                let name = "account \(Int.random(in: 0..<50, using: &coins))"
                let value = "\(round) \(UInt32.random(in: 0...9999, using: &coins))"
                if expected[name] == nil {
                    try await engine.add(name, value)
                    await #expect(throws: KeychainError(.duplicateItem)) {
                        try await engine.add(name, "twice")
                    }
                    expected[name] = value
                } else if Bool.random(using: &coins) {
                    _ = try await engine.update(name, secret: value)
                    expected[name] = value
                } else {
                    try await engine.delete(name)
                    expected[name] = nil
                }
            }
            let report = await engine.check()
            #expect(
                report.isSetAuthentic && report.damaged == 0 && report.items == expected.count,
                "\(report)"
            )
            await engine.close()
        }
        let engine = try await keychain.restart()
        for index in 0..<50 {
            let found = try? await engine.secret("account \(index)")
            #expect(found == expected["account \(index)"])
        }
    }
}
