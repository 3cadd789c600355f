import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite("Changes to the files behind the daemon's back are detected")
struct TamperingTests {
    let keychain = TestKeychain()

    /// A closed keychain with some items.
    private func fill(_ count: Int = 30) async throws {
        let (engine, _) = try await keychain.setUp()
        for index in 0..<count { try await engine.add("account \(index)", "secret \(index)") }
        await engine.close()
    }

    private func edit(_ body: (Database) throws -> Void) throws {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        try queue.writeWithoutTransaction { database in
            try body(database)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
        }
        try queue.close()
        unsafe chmod(keychain.file("items.sqlite"), 0o600)
    }

    @Test(
        "a flipped bit never changes an item silently or makes it look absent",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func bitFlips() async throws {
        let count = 12
        try await fill(count)
        let whole = try keychain.octets("items.sqlite")
        var generator = SplitMix64(seed: 1)
        var found = 0
        let flips = CaseSize.of(60, full: 10_000)
        for _ in 0..<flips {
            var flipped = whole
            let bit = Int.random(in: 0..<(8 * whole.count), using: &generator)
            // A different write version makes the file read-only for SQLite, which has its own error.
            if bit / 8 == 18 { continue }
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            try keychain.write(flipped, to: "items.sqlite")
            if try await !isUnharmed(count, "bit \(bit)") { found += 1 }
        }
        // Most of the file is items.
        #expect(found >= flips / 4, "\(found)")
    }

    /// Reads all items one by one: each is right or refused as damaged.
    private func isUnharmed(_ count: Int, _ what: String) async throws -> Bool {
        let engine: KeychainEngine
        do { engine = try keychain.start() } catch {
            // The flipped bit is in the file's version number.
            #expect(error as? KeychainError == KeychainError(.notAvailable), "\(what)")
            return false
        }
        _ = try await engine.key(TestKeychain.passcode)
        var isUnharmed = true
        for index in 0..<count {
            do {
                let secret = try await engine.secret("account \(index)")
                #expect(secret == "secret \(index)", "\(what)")
            } catch {
                #expect(error as? KeychainError == KeychainError(.decode), "\(what) \(index)")
                isUnharmed = false
            }
        }
        let report = await engine.check()
        if !isUnharmed { #expect(report.damaged > 0 || !report.faults.isEmpty, "\(what)") }
        await engine.close()
        return isUnharmed
    }

    /// The child pointers of an interior page of a table, by their place in the file (SQLite's file format, 1.6).
    private func children(_ file: [UInt8], root: Int, page: Int) throws -> [(place: Int, page: [UInt8])] {
        let start = (root - 1) * page
        try #require(file[start] == 5, "an interior page")
        func number(_ place: Int) -> Int { Int(file[place]) << 8 | Int(file[place + 1]) }
        let places = (0..<number(start + 3)).map { start + number(start + 12 + 2 * $0) } + [start + 8]
        return places.map { ($0, Array(file[$0..<($0 + 4)])) }
    }

    // Found by a flipped bit at full size: after the last row read came those read before, without end.
    @Test("a page that leads back to rows that were read ends every long work, and is damage")
    func backwards() async throws {
        let count = 12
        try await fill(count)
        let whole = try keychain.octets("items.sqlite")
        var root: Int?
        try edit {
            root = try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'items'")
        }
        let pointers = try children(whole, root: try #require(root), page: 1024)
        #expect(pointers.count >= 3)
        for pointer in pointers {
            for other in pointers where other.place != pointer.place {
                var changed = whole
                changed.replaceSubrange(pointer.place..<(pointer.place + 4), with: other.page)
                try keychain.write(changed, to: "items.sqlite")
                let what = "page \(other.page) in the place of \(pointer.page)"
                #expect(try await !isUnharmed(count, what), "\(what)")
                let engine = try keychain.start()
                _ = try await engine.key(TestKeychain.passcode)
                await #expect(throws: KeychainError.self, "\(what)") { try await engine.owners() }
                await engine.close()
            }
        }
    }

    @Test("a truncated file, a zeroed page and swapped pages are damage")
    func brokenPages() async throws {
        let count = 12
        try await fill(count)
        let whole = try keychain.octets("items.sqlite")
        let page = 1024
        let pages = whole.count / page
        #expect(whole.count % page == 0)
        for index in stride(from: 0, to: pages, by: CaseSize.of(3, full: 1)) {
            try keychain.write(Array(whole[..<(index * page)]), to: "items.sqlite")
            let isCutUnharmed = try await isUnharmed(count, "cut at page \(index)")
            #expect(!isCutUnharmed)
            var zeroed = whole
            for place in (index * page)..<((index + 1) * page) { zeroed[place] = 0 }
            try keychain.write(zeroed, to: "items.sqlite")
            _ = try await isUnharmed(count, "zeroed page \(index)")
            var swapped = whole
            let other = (index + 1) % pages
            for place in 0..<page { swapped.swapAt(index * page + place, other * page + place) }
            try keychain.write(swapped, to: "items.sqlite")
            _ = try await isUnharmed(count, "swapped page \(index)")
        }
        var huge = whole
        for place in 28..<32 { huge[place] = 0xFF }
        try keychain.write(huge, to: "items.sqlite")
        _ = try await isUnharmed(count, "as many pages as can be written down")
        try keychain.write(Array("garbage, not a database at all".utf8), to: "items.sqlite")
        let isGarbageUnharmed = try await isUnharmed(count, "garbage")
        #expect(!isGarbageUnharmed)
        #expect(try keychain.octets("items.sqlite").starts(with: Array("garbage".utf8)), "never made anew")
    }

    /// The number of items, counted from the first, with another log; nil if damage is reported.
    private func itemCount(log: [UInt8]) async throws -> Int? {
        let copy = TestKeychain()
        try FileManager.default.copyItem(atPath: keychain.path, toPath: copy.path)
        try copy.write(log, to: "items.sqlite-wal")
        let engine = try await copy.restart()
        var secrets: [String] = []
        var isDamaged = false
        do {
            secrets = try await engine.all().compactMap(\.text)
        } catch {
            isDamaged = error as? KeychainError != KeychainError(.itemNotFound)
        }
        let report = await engine.check()
        await engine.close()
        guard !isDamaged, report.isSetAuthentic, report.damaged == 0, report.faults.isEmpty else {
            return nil
        }
        #expect(Set(secrets) == Set((0..<secrets.count).map { "secret \($0)" }))
        return secrets.count
    }

    @Test(
        "a truncated, flipped or empty log leaves an earlier state of the items or is damage",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func brokenLog() async throws {
        let count = 12
        let (engine, _) = try await keychain.setUp()
        for index in 0..<count { try await engine.add("account \(index)", "secret \(index)") }
        let whole = try keychain.octets("items.sqlite-wal")
        #expect(try await itemCount(log: whole) == count)
        var found: [Int?] = []
        for cut in 0..<CaseSize.of(8, full: 200) {
            found.append(try await itemCount(log: Array(whole[..<(whole.count * cut / 200)])))
        }
        var generator = SplitMix64(seed: 3)
        for _ in 0..<CaseSize.of(24, full: 1000) {
            var flipped = whole
            let bit = Int.random(in: 0..<(8 * whole.count), using: &generator)
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            found.append(try await itemCount(log: flipped))
        }
        await engine.close()
        // Most of the log is changes.
        #expect(found.count { $0 != count } >= found.count / 4, "\(found)")
    }

    @Test("one damaged item does not affect the others")
    func oneDamagedItem() async throws {
        try await fill(5)
        try edit { try $0.execute(sql: "UPDATE items SET data = zeroblob(length(data)) WHERE id = 3") }
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 2") }
        for index in [0, 1, 3, 4] {
            #expect(try await engine.secret("account \(index)") == "secret \(index)")
        }
        await #expect(throws: KeychainError(.decode)) { try await engine.all() }
        let report = await engine.check()
        #expect(report.damaged == 1)
        #expect(report.items == 4)
        #expect(try await engine.delete("account 2") == 1, "attributes are whole: it can be deleted")
        #expect(try await engine.all().count == 4)
    }

    @Test("a removed, restored or moved row is detected through the item set")
    func rows() async throws {
        try await fill(4)
        let whole = try keychain.octets("items.sqlite")
        let edits: [(String, String)] = [
            ("removed", "DELETE FROM items WHERE id = 2"),
            (
                "doubled",
                """
                INSERT INTO items (reference, scope, first, name, attributes, keys, data) \
                SELECT randomblob(16), scope, first, randomblob(8), attributes, keys, data FROM items WHERE id = 2
                """
            ),
            (
                "moved data",
                "UPDATE items SET data = (SELECT data FROM items WHERE id = 1), keys = (SELECT keys FROM items WHERE id = 1) WHERE id = 2"
            ),
            ("another name", "UPDATE items SET name = randomblob(8) WHERE id = 2"),
            ("no set", "DELETE FROM item_set"),
            ("a foreign set", "UPDATE item_set SET sealed = randomblob(68)"),
        ]
        for (name, sql) in edits {
            try keychain.write(whole, to: "items.sqlite")
            try edit { try $0.execute(sql: sql) }
            let engine = try await keychain.restart()
            let report = await engine.check()
            #expect(!report.isSetAuthentic || report.damaged > 0, "\(name)")
            #expect(report.damaged > 0 || report.items != 4 || !report.faults.isEmpty, "\(name)")
            if name != "moved data" { #expect(keychain.audit.kinds.contains(.tamperDetected), "\(name)") }
            await engine.close()
        }
    }

    @Test(
        "damage that the unlock does not read is found in the background and reported once",
        arguments: [
            "UPDATE items SET attributes = zeroblob(length(attributes)) WHERE id = 190",
            "UPDATE items SET scope = randomblob(8) WHERE id = 190",
            "UPDATE items SET (reference, attributes) = (SELECT reference, attributes FROM items WHERE id = 7) WHERE id = 190",
        ]
    )
    func background(sql: String) async throws {
        // More than the sweep examines in one step.
        try await fill(200)
        try edit { try $0.execute(sql: sql) }
        let engine = try await keychain.restart()
        // Changes during the sweep, before and after its position, are no damage.
        _ = try await engine.update("account 3", secret: "newer")
        try await engine.add("another")
        #expect(try await engine.delete("account 150") == 1)
        let found = await keychain.audit.waits(for: .tamperDetected)
        #expect(found)
        #expect(try await engine.secret("account 3") == "newer")
        _ = await engine.check()
        #expect(keychain.audit.kinds.count { $0 == .tamperDetected } == 1)
    }

    @Test("changes during the background sweep are not reported as damage")
    func changesInBackground() async throws {
        try await fill(400)
        let engine = try await keychain.restart()
        // Long enough for the sweep to finish.
        let end = ContinuousClock.now + .seconds(4)
        var index = 0
        while ContinuousClock.now < end {
            _ = try await engine.update("account \(index % 300)", secret: "newer \(index)")
            try await engine.add("another \(index)")
            if index < 100 { try await engine.delete("account \(399 - index)") }
            index += 1
        }
        #expect(!keychain.audit.kinds.contains(.tamperDetected))
        let report = await engine.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.faults.isEmpty)
    }

    @Test(
        "an item-set record that does not match is reported at the unlock",
        arguments: [
            "DELETE FROM item_set", "UPDATE item_set SET sealed = randomblob(68)",
            "DELETE FROM items WHERE id = 2",
        ]
    )
    func setAtUnlock(sql: String) async throws {
        try await fill(4)
        try edit { try $0.execute(sql: sql) }
        _ = try await keychain.restart()
        #expect(keychain.audit.kinds.contains(.tamperDetected))
    }

    @Test("an older state of one row is detected through the item set")
    func rolledBackRow() async throws {
        try await fill(3)
        var row: Row?
        try edit { row = try Row.fetchOne($0, sql: "SELECT attributes, keys, data FROM items WHERE id = 2") }
        var engine: KeychainEngine? = try await keychain.restart()
        _ = try await engine?.update("account 1", secret: "newer")
        await engine?.close()
        engine = nil
        let old = try #require(row)
        try edit { database in
            try database.execute(
                sql: "UPDATE items SET attributes = ?, keys = ?, data = ? WHERE id = 2",
                arguments: [old[0] as Data, old[1] as Data, old[2] as Data]
            )
        }
        let report = await (try keychain.restart()).check()
        #expect(
            report == StoreReport(items: 3, invalidated: 0, damaged: 0, isSetAuthentic: false, faults: [])
        )
    }

    @Test(
        "a foreign schema is refused, and none of its triggers or views runs",
        arguments: [
            "CREATE TRIGGER t AFTER INSERT ON items BEGIN DELETE FROM items; END",
            "CREATE VIEW v AS SELECT * FROM items", "CREATE TABLE extra (a)", "DROP INDEX items_label",
            "CREATE VIRTUAL TABLE f USING fts5(a)", "ALTER TABLE items ADD COLUMN extra BLOB",
        ]
    )
    func hostileSchema(sql: String) async throws {
        try await fill(2)
        try edit { try $0.execute(sql: sql) }
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 0") }
        await #expect(throws: KeychainError(.decode)) { try await engine.add("another") }
        let report = await engine.check()
        #expect(!report.isSetAuthentic)
    }

    @Test("a newer format is refused and left unchanged")
    func newerFormat() async throws {
        try await fill(2)
        // 5, with its complement in the upper half.
        try edit { try $0.execute(sql: "PRAGMA user_version = \(Int32(bitPattern: 0xFFFA_0005))") }
        let before = try keychain.octets("items.sqlite")
        let error = #expect(throws: KeychainError(.notAvailable)) { try keychain.start() }
        #expect(error?.cause?.code == "newer format")
        #expect(try keychain.octets("items.sqlite") == before)
    }

    @Test("a missing file is damage, never an empty keychain")
    func missingFile() async throws {
        try await fill(2)
        try FileManager.default.removeItem(atPath: keychain.file("items.sqlite"))
        // A log alone is no keychain either.
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: keychain.file("items.sqlite-wal")))
        unsafe chmod(keychain.file("items.sqlite-wal"), 0o600)
        let engine = try await keychain.restart()
        await #expect(throws: KeychainError(.decode)) { try await engine.secret("account 0") }
        #expect(!FileManager.default.fileExists(atPath: keychain.file("items.sqlite")))
    }

    @Test("a deleted item's record is removed from all files")
    func deletedIsGone() async throws {
        try await fill(8)
        var record = Data()
        try edit { record = try Data.fetchOne($0, sql: "SELECT keys FROM items WHERE id = 4") ?? Data() }
        #expect(record.count == 61)
        let files = ["items.sqlite", "items.sqlite-wal"]
        func hits() throws -> Int {
            try files.count { name in
                guard FileManager.default.fileExists(atPath: keychain.file(name)) else { return false }
                return Data(try keychain.octets(name)).range(of: record) != nil
            }
        }
        #expect(try hits() > 0)
        let engine = try await keychain.restart()
        #expect(try await engine.delete("account 3") == 1)
        await engine.lock()
        #expect(try hits() == 0)
    }

    @Test("the files contain no name or secret in clear")
    func nothingInClear() async throws {
        let (engine, _) = try await keychain.setUp()
        let marker = "marker-\(UUID().uuidString)"
        try await engine.add(marker, marker, attributes: [.label: .string(marker)])
        let group = Data(AccessGroup.ours.name.utf8)
        for name in try FileManager.default.contentsOfDirectory(atPath: keychain.path) {
            let octets = Data(try keychain.octets(name))
            #expect(octets.range(of: Data(marker.utf8)) == nil, "\(name)")
            #expect(octets.range(of: group) == nil, "\(name)")
        }
    }
}
