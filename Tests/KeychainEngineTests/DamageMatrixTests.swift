import Foundation
import GRDB
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("No damage of the items' files loses an item silently, and a repair keeps all that is whole")
struct DamageMatrixTests {
    /// The state of the log.
    enum State: String, CaseIterable {
        /// After an orderly end: all is in the main file.
        case ended
        /// After a kill: the last changes are in the log alone.
        case killed
        /// After a kill, all of the log having been written back to the main file.
        case writtenBack
        /// After a kill, the log having been written back and begun anew, with frames of its former run behind.
        case begunAnew
    }

    private static let itemCount = 16

    private struct Prepared {
        let keychain = TestKeychain()
        let image: StoreImage
        let values: [String: String]
        let places: [Set<StoreImage.Page>]
    }

    /// A store with small and large items, of which some were changed and some deleted.
    private func prepare(_ state: State) async throws -> Prepared {
        let source = TestKeychain(purgeDelay: TestKeychain.never)
        let (engine, _) = try await source.setUp()
        var values: [String: String] = [:]
        func add(_ number: Int) async throws {
            let length = number % 5 == 4 ? 2500 : number * 10
            let value = "secret \(number) " + String(repeating: "x", count: length)
            values["account \(number)"] = value
            try await engine.add("account \(number)", value)
        }
        for number in 0..<(Self.itemCount / 2) { try await add(number) }
        func writeBack() throws {
            try engine.items.withState { try $0.store?.database.execute("PRAGMA wal_checkpoint") }
        }
        if state == .begunAnew { try writeBack() }
        for number in (Self.itemCount / 2)..<Self.itemCount { try await add(number) }
        for number in [1, 4] {
            values["account \(number)"] = "newer \(number)"
            _ = try await engine.update("account \(number)", secret: "newer \(number)")
        }
        values["account 2"] = nil
        try await engine.delete("account 2")
        switch state {
        case .ended: engine.items.withState { $0.store?.settleLog() }
        case .writtenBack: try writeBack()
        case .killed, .begunAnew: break
        }
        let image = try StoreImage(of: source)
        let blobs = try await Self.blobs(of: source, image)
        let prepared = Prepared(image: image, values: values, places: image.places(of: blobs))
        try FileManager.default.copyItem(atPath: source.path, toPath: prepared.keychain.path)
        await engine.close()
        #expect(blobs.count == values.count && prepared.places.allSatisfy { !$0.isEmpty })
        return prepared
    }

    /// The columns of all rows, as SQLite reads them from a copy.
    private static func blobs(of source: TestKeychain, _ image: StoreImage) async throws -> [[[UInt8]]] {
        let copy = TestKeychain()
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        try image.write(to: copy)
        let queue = try DatabaseQueue(path: copy.file(StoreImage.main))
        defer { try? queue.close() }
        return try await queue.read { database in
            try Row.fetchAll(database, sql: "SELECT attributes, keys, data FROM items").map { row in
                (0..<3).map { index in (row[index] as Data?).map { Array($0) } ?? [] }
            }
        }
    }

    @Test(
        "whatever is hit, what is lost is told, and what is whole is kept",
        .timeLimit(.minutes(CaseSize.of(20, full: 90))),
        arguments: State.allCases,
        Damage.allCases
    )
    func damage(_ state: State, _ damage: Damage) async throws {
        let prepared = try await prepare(state)
        var coins = SplitMix64(seed: UInt64(damage.byteCount))
        var told = 0
        for name in [StoreImage.main, StoreImage.log, StoreImage.mark] {
            guard let whole = prepared.image.files[name], !whole.isEmpty else { continue }
            let units = Array(stride(from: 0, to: whole.count, by: damage.byteCount))
            // Every place is tried at full size; of bits and bytes, each of the first ones, and then some.
            let all = damage.byteCount < 512 ? 150 : units.count
            let wanted = name == StoreImage.mark ? 2 : CaseSize.of(2, full: all)
            let step = max(1, units.count / wanted)
            let first = damage.byteCount < 512 ? CaseSize.of(0, full: 100 / damage.byteCount) : 0
            var places = Set([0] + units.prefix(first))
            for start in stride(from: 0, to: units.count, by: step) {
                places.insert(units[min(units.count - 1, start + Int.random(in: 0..<step, using: &coins))])
            }
            for place in places.sorted() {
                var image = prepared.image
                var octets = whole
                let hit = damage.apply(to: &octets, at: place, using: &coins)
                image.files[name] = octets
                if try await check(prepared, image, name, hit, "\(state) \(damage) \(name) at \(place)") {
                    told += 1
                }
            }
        }
        #expect(told > 0)
    }

    @Test(
        "damage of the first page or of a root is never a newer format, and a repair keeps every item",
        .timeLimit(.minutes(CaseSize.of(20, full: 90)))
    )
    func firstPage() async throws {
        let prepared = try await prepare(.ended)
        let whole = try #require(prepared.image.files[StoreImage.main])
        var coins = SplitMix64(seed: 11)
        var told = 0
        func check(_ range: Range<Int>, _ octets: [UInt8], _ what: String) async throws {
            var image = prepared.image
            image.files[StoreImage.main]?.replaceSubrange(range, with: octets)
            if try await self.check(prepared, image, StoreImage.main, [range], "\(what)") { told += 1 }
        }
        // The user version: older and newer formats' numbers, and a wrong byte.
        for version in [0, 1, 2, 3, 5, 6] {
            try await check(63..<64, [UInt8(version)], "user version \(version)")
        }
        try await check(60..<61, [1], "user version with a wrong complement")
        #expect(told == 7)
        for bit in stride(from: 0, to: 108 * 8, by: CaseSize.of(61, full: 1)) {
            try await check((bit / 8)..<(bit / 8 + 1), [whole[bit / 8] ^ 1 << UInt8(bit % 8)], "bit \(bit)")
        }
        told = 0
        let page = ItemSchema.pageByteCount
        let zeros = [UInt8](repeating: 0, count: page)
        for root in try await Self.roots(of: prepared) + [1] {
            try await check(((root - 1) * page)..<(root * page), zeros, "zeros on page \(root)")
            let noise = zeros.map { _ in UInt8.random(in: 0...255, using: &coins) }
            try await check(((root - 1) * page)..<(root * page), noise, "noise on page \(root)")
        }
        // All tables and indexes, and the schema.
        #expect(told == 2 * (ItemSchema.statements.count + 1))
    }

    /// The first pages of all tables and indexes.
    private static func roots(of prepared: Prepared) async throws -> [Int] {
        let copy = TestKeychain()
        try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
        try prepared.image.write(to: copy)
        let queue = try DatabaseQueue(path: copy.file(StoreImage.main))
        defer { try? queue.close() }
        return try await queue.read { try Int.fetchAll($0, sql: "SELECT rootpage FROM sqlite_schema") }
    }

    /// Checks one damaged image.
    ///
    /// - Returns: whether damage was told.
    private func check(
        _ prepared: Prepared,
        _ image: StoreImage,
        _ name: String,
        _ hit: [Range<Int>],
        _ what: Comment
    ) async throws -> Bool {
        let keychain = prepared.keychain
        try image.write(to: keychain)
        var engine: KeychainEngine? = try await keychain.restart()
        var isTold = try await engine.required.tellsDamage(to: prepared.values, what)
        let report = await engine.required.check()
        isTold = isTold || !report.isSetAuthentic || report.damaged > 0 || !report.faults.isEmpty
        if !isTold {
            // What was not noticed does no harm later either.
            for number in 0..<3 {
                try await engine.required.add("more \(number)", String(repeating: "more", count: 400))
            }
            try await keychain.restart(&engine)
            let found = try await engine.required.values()
            #expect(found.filter { !$0.key.hasPrefix("more") } == prepared.values, what)
            #expect(found.count == prepared.values.count + 3, what)
            await engine.required.close()
            return false
        }
        #expect(await !engine.required.storeFaults().isEmpty, what)
        let proof = try await engine.required.passcodeProof()
        let shown = try await engine.required.repair(proof: proof, accepting: false)
        #expect(!shown.isWell, what)
        let repair = try await engine.required.repair(proof: proof, accepting: true)
        #expect(repair.kept == shown.kept, what)
        let aside = try #require(repair.keptAside, what)
        #expect(try keychain.octets(aside) == image.files[StoreImage.main], what)
        if let log = image.files[StoreImage.log], !log.isEmpty {
            #expect(try keychain.octets(aside + "-wal") == log, what)
        }
        for isRestarted in [false, true] {
            if isRestarted { try await keychain.restart(&engine) }
            let found = try await engine.required.values()
            for (account, value) in found {
                // A former value is kept where there is no other, and named, if the record can tell.
                let isToldOlder = repair.items.contains { $0.finding == .older && $0.name == account }
                #expect(
                    prepared.values[account] == value || isToldOlder || repair.isRecordDamaged,
                    "\(what): \(account)"
                )
            }
            let mayBeLost = prepared.places.count { places in
                places.contains { page in page.name == name && hit.contains { $0.overlaps(page.range) } }
            }
            let kept = prepared.values.count { found[$0.key] == $0.value }
            #expect(kept >= prepared.values.count - mayBeLost, "\(what): \(kept), \(mayBeLost), \(repair)")
            #expect(await engine.required.storeFaults().isEmpty, what)
            let again = await engine.required.check()
            #expect(again.isSetAuthentic && again.damaged == 0 && again.faults.isEmpty, what)
        }
        await engine.required.close()
        return true
    }
}
