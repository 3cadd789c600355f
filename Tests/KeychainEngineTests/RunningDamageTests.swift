import Foundation
import KeychainModel
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite("Damage to the items' files under a running daemon loses no item silently")
struct RunningDamageTests {
    /// The state of the log when the damage comes.
    enum State: String, CaseIterable {
        case empty, filled, writtenBack, begunAnew
    }

    /// How the daemon ends.
    enum End: CaseIterable {
        case orderly, kill
    }

    private struct Prepared {
        let keychain = TestKeychain(purgeDelay: TestKeychain.never)
        let image: StoreImage
        let values: [String: String]
    }

    /// A store as a kill leaves it, with small and large items, of which some were changed or deleted.
    private func prepare(_ state: State) async throws -> Prepared {
        let source = TestKeychain(purgeDelay: TestKeychain.never)
        let (engine, _) = try await source.setUp()
        var values: [String: String] = [:]
        func add(_ numbers: Range<Int>) async throws {
            for number in numbers {
                let value =
                    "secret \(number) " + String(repeating: "x", count: number % 5 == 4 ? 2500 : number)
                values["account \(number)"] = value
                try await engine.add("account \(number)", value)
            }
        }
        func writeBack() throws {
            try engine.items.withState { try $0.store?.database.execute("PRAGMA wal_checkpoint") }
        }
        try await add(0..<8)
        if state == .begunAnew { try writeBack() }
        try await add(8..<16)
        for number in [1, 4] {
            values["account \(number)"] = "newer \(number)"
            _ = try await engine.update("account \(number)", secret: "newer \(number)")
        }
        values["account 2"] = nil
        try await engine.delete("account 2")
        switch state {
        case .empty: engine.items.withState { $0.store?.settleLog() }
        case .writtenBack: try writeBack()
        case .filled, .begunAnew: break
        }
        let prepared = Prepared(image: try StoreImage(of: source), values: values)
        try FileManager.default.copyItem(atPath: source.path, toPath: prepared.keychain.path)
        await engine.close()
        return prepared
    }

    @Test(
        "whatever is hit, reads, changes, an orderly end and a kill give the right values, or tell",
        .timeLimit(.minutes(CaseSize.of(20, full: 90))),
        arguments: State.allCases,
        Damage.allCases
    )
    func damage(_ state: State, _ damage: Damage) async throws {
        let prepared = try await prepare(state)
        var coins = SplitMix64(seed: UInt64(damage.byteCount))
        for name in [StoreImage.main, StoreImage.log, StoreImage.mark] {
            guard let whole = prepared.image.files[name], !whole.isEmpty else { continue }
            let units = Array(stride(from: 0, to: whole.count, by: damage.byteCount))
            let all = damage.byteCount < 512 ? 150 : units.count
            let wanted = name == StoreImage.mark ? 2 : CaseSize.of(2, full: all)
            var places = Set([0])
            for start in stride(from: 0, to: units.count, by: max(1, units.count / wanted)) {
                let end = min(units.count, start + max(1, units.count / wanted))
                places.insert(units[Int.random(in: start..<end, using: &coins)])
            }
            for place in places.sorted() {
                var octets = whole
                _ = damage.apply(to: &octets, at: place, using: &coins)
                for end in CaseSize.of([Bool.random(using: &coins) ? End.orderly : .kill], full: End.allCases)
                {
                    // What the cache has of the pages may hide the damage for a while.
                    for isWarm in CaseSize.of([Bool.random(using: &coins)], full: [false, true]) {
                        let what: Comment = "\(state) \(damage) \(name) at \(place), \(end), warm \(isWarm)"
                        try await check(prepared, end, isWarm: isWarm, what) { keychain in
                            // Opening may have changed it.
                            guard try keychain.octets(name).count == octets.count else { return }
                            try keychain.write(octets, to: name)
                        }
                    }
                }
            }
        }
    }

    private func check(
        _ prepared: Prepared,
        _ end: End,
        isWarm: Bool,
        _ what: Comment,
        damaging damage: (TestKeychain) throws -> Void
    ) async throws {
        let keychain = prepared.keychain
        try prepared.image.write(to: keychain)
        var engine: KeychainEngine? = try await keychain.restart()
        if isWarm { #expect(try await engine.required.values() == prepared.values) }
        try damage(keychain)

        var isTold = try await engine.required.tellsDamage(to: prepared.values, what)
        var values = prepared.values
        // What a change leaves that was refused because of damage: the former value or the later one.
        var unsure: Set<String> = []
        func change(_ account: String, _ value: String, _ body: () async throws -> Void) async throws {
            do {
                try await body()
                values[account] = value
            } catch let error as KeychainError {
                #expect(error.status == .decode || error.status == .io, "\(what): \(error)")
                unsure.insert(account)
                isTold = true
            }
        }
        for number in 0..<3 {
            let value = String(repeating: "new", count: 300 * number + 1)
            try await change("new \(number)", value) {
                try await engine.required.add("new \(number)", value)
            }
        }
        try await change("account 3", "changed") {
            _ = try await engine.required.update("account 3", secret: "changed")
        }
        let left = try StoreImage(of: keychain)
        await engine?.close()
        engine = nil
        if end == .kill { try left.write(to: keychain) }

        engine = try await keychain.restart()
        let certain = values.filter { !unsure.contains($0.key) }
        if unsure.isEmpty {
            isTold = try await engine.required.tellsDamage(to: values, what) || isTold
        }
        isTold = await engine.required.checkTellsDamage() || isTold
        if isTold {
            let proof = try await engine.required.passcodeProof()
            let repair = try await engine.required.repair(proof: proof, accepting: true)
            let found = try await engine.required.values()
            for (account, value) in found where !unsure.contains(account) {
                let isToldOlder = repair.items.contains { $0.finding == .older && $0.name == account }
                #expect(
                    certain[account] == value || isToldOlder || repair.isRecordDamaged,
                    "\(what): \(account)"
                )
            }
            #expect(await !engine.required.checkTellsDamage(), what)
        } else {
            #expect(try await engine.required.values() == values, what)
        }
        await engine?.close()
    }
}
