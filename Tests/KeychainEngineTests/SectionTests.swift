import Foundation
import GRDB
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("A store too large to be read completely at the first unlock")
struct SectionTests {
    /// A closed keychain of `count` items.
    private func fill(_ keychain: TestKeychain, _ count: Int) async throws {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<count { try await engine.add("account \(index)", "secret \(index)") }
        await engine.close()
    }

    private func edit(_ keychain: TestKeychain, _ sql: String) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            try database.execute(sql: sql)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }

    enum Ask: CaseIterable {
        case nothing, name, neighbours, absentName, list, added, reference, absentReference, deleted

        /// How many of the seven sections must be read for it.
        var sections: Int {
            switch self {
            case .nothing: 0
            case .name, .neighbours, .reference, .absentReference: 1
            case .absentName, .list, .added, .deleted: 7
            }
        }
    }

    @Test(
        "an answer reads only the sections it needs: one for a present item, all for an absent one",
        arguments: Ask.allCases
    )
    func sections(_ ask: Ask) async throws {
        let keychain = TestKeychain(groupsInSection: 1, sweepDelay: TestKeychain.never)
        try await fill(keychain, 100)
        var references: [PersistentReference] = []
        do {
            let engine = try await keychain.restart()
            references = try await engine.all([:], returns: [.persistentRef]).compactMap(\.reference)
            if ask == .absentReference { try await engine.delete("account 70") }
            await engine.close()
        }
        let engine = try await keychain.restart()
        #expect(await engine.readSections == (0, 7), "an unlock reads none")
        switch ask {
        case .nothing: break
        case .name: #expect(try await engine.secret("account 50") == "secret 50")
        case .neighbours:
            for index in 48..<60 { #expect(try await engine.secret("account \(index)") == "secret \(index)") }
        case .absentName:
            await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret("no") }
        case .list: #expect(try await engine.all().count == 100)
        case .added:
            await #expect(throws: KeychainError(.duplicateItem)) { try await engine.add("account 50") }
        case .reference:
            #expect(try await engine.all(references: [references[70]]).map(\.text) == ["secret 70"])
        case .absentReference:
            await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.all(references: [references[70]])
            }
        case .deleted: #expect(try await engine.delete("account 50") == 1)
        }
        let read = await engine.readSections
        #expect(read == (ask.sections, 7), "\(read)")
        await engine.close()
    }

    @Test("a store that grows into sections and shrinks again is authentic at every step", arguments: [1, 2])
    func crossing(groupsInSection: Int) async throws {
        let keychain = TestKeychain(groupsInSection: groupsInSection)
        do { _ = try await keychain.setUp() }
        var present: [String] = []
        var most = 0
        for (round, change) in [10, 12, 20, 60, -50, -30, -20, 40, -41].enumerated() {
            do {
                let engine = try await keychain.restart()
                if change > 0 {
                    for index in 0..<change {
                        present.append("\(round) \(index)")
                        try await engine.add("\(round) \(index)", "secret \(round) \(index)")
                    }
                } else {
                    for _ in change..<0 { try await engine.delete(present.removeFirst()) }
                }
                await engine.close()
            }
            let engine = try await keychain.restart()
            for name in present { #expect(try await engine.secret(name) == "secret \(name)") }
            #expect(try await engine.all().count == present.count || present.isEmpty)
            let report = await engine.check()
            #expect(
                report.isSetAuthentic && report.items == present.count && report.faults.isEmpty,
                "\(report)"
            )
            let sections = await engine.readSections.all
            most = max(most, sections)
            if round == 0 { #expect(sections == 1) }
            if present.count == 1 { #expect(sections <= 1 + 1 / groupsInSection, "\(sections)") }
            await engine.close()
        }
        #expect(most > 2)
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("an undivided store opens and is divided at its next change")
    func former() async throws {
        let former = TestKeychain()
        try await fill(former, 50)
        let keychain = TestKeychain(groupsInSection: 1, sweepDelay: TestKeychain.never)
        try FileManager.default.moveItem(atPath: former.path, toPath: keychain.path)
        for round in 0..<2 {
            let engine = try await keychain.restart()
            #expect(await engine.readSections == (round == 0 ? (1, 1) : (0, 4)))
            for index in [0, 49] { #expect(try await engine.secret("account \(index)") == "secret \(index)") }
            if round == 0 { try await engine.add("new") }
            #expect(await engine.readSections.all == 4 || round == 1)
            let report = await engine.check()
            #expect(report.isSetAuthentic && report.items == 51, "\(report)")
            await engine.close()
        }
    }

    @Test("a daemon killed while the store grows leaves the state after some change")
    func killed() async throws {
        let keychain = TestKeychain(groupsInSection: 1)
        let (engine, _) = try await keychain.setUp()
        for index in 0..<14 { try await engine.add("account \(index)", "secret \(index)") }
        var counts: [Int] = []
        for index in 14..<20 {
            try await engine.add("account \(index)", "secret \(index)")
            let log = try keychain.octets("items.sqlite-wal")
            for part in 0..<CaseSize.of(3, full: 60) {
                let cut = log.count - part * (log.count / CaseSize.of(40, full: 400))
                let copy = TestKeychain(groupsInSection: 1)
                try FileManager.default.copyItem(atPath: keychain.path, toPath: copy.path)
                try copy.write(Array(log[..<cut]), to: "items.sqlite-wal")
                let opened = try await copy.restart()
                let report = await opened.check()
                guard await opened.storeFaults().isEmpty else {
                    // The loss of a flushed change is reported.
                    #expect(part > 0, "\(report)")
                    continue
                }
                #expect(report.isSetAuthentic && report.items <= index + 1, "\(report)")
                #expect(part > 0 || report.items == index + 1)
                for index in 0..<report.items {
                    #expect(try await opened.secret("account \(index)") == "secret \(index)")
                }
                counts.append(report.items)
                await opened.close()
            }
        }
        #expect(counts.contains(16) && counts.contains(17), "\(counts)")
    }

    @Test("replacing the file after the unlock never yields a former value", arguments: [nil, 1])
    func underRunning(groupsInSection: Int?) async throws {
        for first in [0, 30] {
            let keychain = TestKeychain(groupsInSection: groupsInSection)
            try await fill(keychain, 60)
            let before = try keychain.octets("items.sqlite")
            do {
                let engine = try await keychain.restart()
                for index in stride(from: 0, to: 60, by: 3) {
                    _ = try await engine.update("account \(index)", secret: "newer \(index)")
                }
                for index in stride(from: 1, to: 60, by: 3) { try await engine.delete("account \(index)") }
                await engine.close()
            }
            let engine = try await keychain.restart()
            #expect(try await engine.secret("account \(first)") == "newer \(first)")
            // A lock does not prevent writes by others.
            try keychain.write(before, to: "items.sqlite")
            for index in 0..<60 {
                do {
                    let found = try await engine.secret("account \(index)")
                    #expect(found == ["newer \(index)", nil, "secret \(index)"][index % 3])
                } catch let error as KeychainError {
                    let isAbsent = error == KeychainError(.itemNotFound) && index % 3 == 1
                    #expect(isAbsent || error == KeychainError(.decode), "\(index): \(error)")
                }
            }
            // A file that was changed is not overwritten.
            await engine.close()
        }
    }

    @Test("adding an item does not hide that another one is missing", arguments: [nil, 1])
    func missingLast(groupsInSection: Int?) async throws {
        let keychain = TestKeychain(groupsInSection: groupsInSection)
        try await fill(keychain, 40)
        try edit(keychain, "DELETE FROM items WHERE id = 40")
        for round in 0..<2 {
            let engine = try await keychain.restart()
            if round == 0 {
                try await engine.add("new")
                #expect(try await engine.secret("new") == "secret")
            }
            await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 39") }
            let report = await engine.check()
            #expect(!report.isSetAuthentic, "\(report)")
            await engine.close()
        }
    }

    @Test(
        "a store at the daemon's section limit is divided and works",
        .timeLimit(.minutes(CaseSize.of(30, full: 90)))
    )
    func size() async throws {
        // In the full run, with the daemon's own limit.
        let isFull = CaseSize.isFull
        let count = isFull ? 150_000 : 300
        let keychain = TestKeychain(groupsInSection: isFull ? nil : 8, sweepDelay: TestKeychain.never)
        let sections = 3
        let older = keychain.file("older.sqlite")
        do {
            let (engine, _) = try await keychain.setUp()
            for start in stride(from: 0, to: count, by: 500) {
                try await withThrowingTaskGroup(of: Void.self) { tasks in
                    for index in start..<min(start + 500, count) {
                        tasks.addTask { try await engine.add("account \(index)", "secret \(index)") }
                    }
                    try await tasks.waitForAll()
                }
            }
            #expect(await engine.readSections == (sections, sections))
            await engine.close()
        }
        try FileManager.default.copyItem(atPath: keychain.file("items.sqlite"), toPath: older)
        let places = [0, count / 2, count - 1]
        do {
            let engine = try await keychain.restart()
            #expect(await engine.readSections == (0, sections))
            #expect(try await engine.secret("account \(count / 2)") == "secret \(count / 2)")
            #expect(await engine.readSections == (1, sections))
            for index in places {
                #expect(try await engine.update("account \(index)", secret: "newer") == .updated(1))
                try await engine.delete("account \(index + (index == 0 ? 1 : -1))")
            }
            await engine.close()
        }
        let columns = "reference, scope, first, name, second, label, attributes, keys, data"
        try edit(
            keychain,
            """
            ATTACH '\(older)' AS older;
            INSERT INTO items SELECT * FROM older.items o WHERE o.id NOT IN (SELECT id FROM main.items);
            UPDATE items SET (\(columns)) = (SELECT \(columns) FROM older.items o WHERE o.id = items.id)
            WHERE (name, attributes) NOT IN (SELECT name, attributes FROM older.items);
            DETACH older;
            """
        )
        for index in places {
            let engine = try await keychain.restart()
            await #expect(throws: KeychainError(.decode)) { try await engine.secret("account \(index)") }
            let deleted = "account \(index + (index == 0 ? 1 : -1))"
            await #expect(throws: KeychainError(.itemNotFound)) { try await engine.secret(deleted) }
            #expect(try await engine.secret("account \(count / 3)") == "secret \(count / 3)")
            await engine.close()
        }
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await engine.all(returns: [.attributes]) }
        let report = await engine.check()
        #expect(!report.isSetAuthentic, "\(report)")
        await engine.close()
    }

    @Test("damaged tags of an unread section are found and reported by the background sweep")
    func background() async throws {
        let keychain = TestKeychain(groupsInSection: 1)
        try await fill(keychain, 60)
        try edit(keychain, "UPDATE item_set SET sealed = zeroblob(28) WHERE id = 3")
        do {
            let engine = try await keychain.restart(sweepDelay: TestKeychain.never)
            #expect(try await engine.secret("account 5") == "secret 5")
            #expect(!keychain.audit.kinds.contains(.tamperDetected), "it was not needed yet")
            await engine.close()
        }
        let engine = try await keychain.restart()
        #expect(await keychain.audit.waits(for: .tamperDetected))
        await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 5") }
        #expect(await engine.storeFaults().isEmpty == false)
        await engine.close()
    }

    @Test("the background sweep reads all sections of an intact store")
    func backgroundWhole() async throws {
        let keychain = TestKeychain(groupsInSection: 1)
        try await fill(keychain, 60)
        let engine = try await keychain.restart()
        _ = try await Deadline.wait(for: "all sections") {
            await engine.readSections == (4, 4) ? true : nil
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
        await engine.close()
    }

    @Test(
        "a damaged store is repaired",
        arguments: [
            "DELETE FROM items WHERE id = 40", "DELETE FROM item_set WHERE id = 2",
            "UPDATE item_set SET sealed = randomblob(124) WHERE id > 1000",
        ]
    )
    func repaired(sql: String) async throws {
        let keychain = TestKeychain(groupsInSection: 1)
        try await fill(keychain, 60)
        try edit(keychain, sql)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        for round in 0..<3 {
            let engine = try keychain.start()
            let proof = Proofs.of(control, [.passcode], key: try await engine.key(TestKeychain.passcode))
            let repair = try await engine.repair(proof: proof, accepting: round == 1)
            #expect(repair.isWell == (round == 2), "\(repair)")
            #expect(repair.kept == (sql.contains("items") ? 59 : 60), "\(repair)")
            #expect(repair.isRecordDamaged == (round < 2 && !sql.contains("items")), "\(repair)")
            if round > 0 {
                #expect(try await engine.secret("account 5") == "secret 5")
                try await engine.add("new \(round)")
                try await engine.delete("new \(round)")
                let report = await engine.check()
                #expect(report.isSetAuthentic && report.damaged == 0, "\(report)")
                #expect(await engine.readSections.all > 1)
            }
            await engine.close()
        }
    }

    @Test("the digest equals the sum over all groups after any sequence of changes")
    func balance() {
        var coins = SplitMix64(seed: 11)
        for most in [1, 2, 7] {
            var digest = ItemSetDigest()
            var groups: [Int64: SIMD4<UInt64>] = [:]
            for step in 0..<400 {
                let isGrowing = step < 150 || step >= 300
                if isGrowing || groups.isEmpty {
                    let number = Int64(step / 2 * 3)
                    let contribution = SIMD4<UInt64>(
                        .random(in: 0...(.max), using: &coins),
                        1,
                        2,
                        UInt64(step)
                    )
                    if let former = groups.updateValue(contribution, forKey: number) {
                        digest.remove(former, group: number)
                    }
                    digest.insert(contribution, group: number)
                } else if let (number, former) = groups.randomElement(using: &coins) {
                    groups[number] = nil
                    digest.remove(former, group: number)
                }
                digest.balance(most: most) { range in
                    groups.filter { range.contains($0.key) }.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
                }
                for place in digest.sections.indices {
                    var sum = ItemSetSum()
                    for (number, contribution) in groups
                    where digest.groups(ofSection: place).contains(number) {
                        sum.insert(contribution)
                    }
                    #expect(digest.sections[place].sum == sum && sum.count <= most)
                }
                #expect(digest.sections.first?.first == .min)
                #expect(digest.sections.count <= 1 + 4 * groups.count / most, "\(step)")
            }
        }
    }
}

extension KeychainEngine {
    /// The number of sections in memory, and of all sections.
    fileprivate var readSections: (read: Int, all: Int) {
        get async {
            items.withState { state in
                let all = state.store?.itemSet.digest?.sections.count ?? 0
                return (all - (state.store?.itemSet.unread.count ?? 0), all)
            }
        }
    }
}
