import Foundation
import GRDB
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing

@Suite("A private key that may be used for a time, or only so often")
struct KeyLimitTests {
    let keychain = TestKeychain()
    private static let now: Int64 = 1_700_000_000_000_000

    /// Expects a use to be refused, and a question about the key too unless it is known.
    private func expectRefused(
        _ key: EnclaveKey,
        _ engine: KeychainEngine,
        _ cause: DriverCause,
        _ when: Comment,
        isKnown: Bool = false
    ) async {
        let used = await #expect(throws: KeychainError.self, when) { try await engine.result(key) }
        #expect(used?.cause == cause, when)
        guard !isKnown else { return }
        let read = await #expect(throws: KeychainError.self, when) {
            try await engine.key(key.representation, groups: [.ours])
        }
        #expect(read?.cause == cause, when)
    }

    private func edit<R>(_ body: (Database) throws -> R) throws -> R {
        let queue = try DatabaseQueue(path: keychain.file("items.sqlite"))
        defer { unsafe chmod(keychain.file("items.sqlite"), 0o600) }
        let result = try queue.writeWithoutTransaction { database in
            let result = try body(database)
            try database.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            return result
        }
        try queue.close()
        return result
    }

    private func usesLeft(_ key: EnclaveKey, _ engine: KeychainEngine) async throws -> UInt32? {
        try await engine.key(key.representation, groups: [.ours]).usesLeft
    }

    @Test("every operation counts, also after a lock and a restart, and none is made beyond the number")
    func uses() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 4))
        let other = try await engine.required.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 1))
        let free = try await engine.required.makeKey(.privateKeyUsage)
        #expect(key.usesLeft == 4 && free.usesLeft == nil)
        #expect(try await usesLeft(key, engine.required) == 4)
        #expect(try key.signed(try await engine.required.result(key)))
        #expect(try await usesLeft(key, engine.required) == 3)
        _ = try await engine.required.result(key, .agree(publicKey: other.publicKey))
        await engine?.lock()
        _ = try await engine.required.key(TestKeychain.passcode)
        #expect(try await usesLeft(key, engine.required) == 2)
        try await keychain.restart(&engine)
        _ = try await engine.required.result(key, .decrypt(publicKey: other.publicKey))
        #expect(try await usesLeft(key, engine.required) == 1)
        #expect(try key.signed(try await engine.required.result(key)))
        await expectRefused(key, engine.required, .usedUp, "the fifth")
        try await keychain.restart(&engine)
        await expectRefused(key, engine.required, .usedUp, "restarted")
        // Each key has its own count.
        #expect(try await usesLeft(other, engine.required) == 1)
        for _ in 0..<6 { #expect(try free.signed(try await engine.required.result(free))) }
        let report = await engine.required.check()
        #expect(report.isSetAuthentic && report.damaged == 0 && report.items == 0, "\(report)")
    }

    @Test("programs that use it at once get no use more")
    func race() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 5))
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    do {
                        return try key.signed(try await engine.result(key))
                    } catch let error as KeychainError where error.cause == .usedUp {
                        return false
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count { $0 } == 5)
        await expectRefused(key, engine, .usedUp, "afterwards")
    }

    @Test("nobody is asked for a use that is refused, and only a use that is made counts")
    func asked() async throws {
        let (engine, passcode) = try await keychain.setUp()
        let key = try await engine.makeKey(
            [.devicePasscode, .privateKeyUsage],
            limits: try KeyLimits(uses: 1)
        )
        await #expect(throws: NeedsAuthentication.self) { try await engine.result(key) }
        await #expect(throws: KeychainError(.param)) { try await engine.result(key, .sign(digest: [1])) }
        #expect(try await usesLeft(key, engine) == 1)
        let proof = Proofs.of(key.accessControl, [.passcode], key: passcode, operation: .useKeySign)
        #expect(try key.signed(try await engine.result(key, proofs: [proof])))
        await expectRefused(key, engine, .usedUp, "without a proof")
    }

    @Test("it may be used from its start to its end, by the daemon's clock, and is known before and after")
    func time() async throws {
        try await { _ = try await keychain.setUp() }()
        let now = Guarded(Self.now)
        let engine = try keychain.start(clock: { now.withLock { $0 } })
        _ = try await engine.key(TestKeychain.passcode)
        let (start, end) = (Self.now + 1_000_000, Self.now + 2_000_000)
        let limits = try KeyLimits(starts: UInt64(start), ends: UInt64(end), uses: 3)
        let key = try await engine.makeKey(.privateKeyUsage, limits: limits)
        for (time, cause) in [
            (Self.now, .notYetValid), (start - 1, .notYetValid), (start, nil), (end - 1, nil),
            (end, .expired),
            (Self.now, .notYetValid), (.max, .expired),
        ] as [(Int64, DriverCause?)] {
            now.withLock { $0 = time }
            if let cause {
                await expectRefused(key, engine, cause, "at \(time)", isKnown: true)
            } else {
                #expect(try key.signed(try await engine.result(key)))
            }
        }
        #expect(try await usesLeft(key, engine) == 1, "what is refused is not counted")
    }

    @Test("deleting it removes its count, and it stays deleted")
    func deleted() async throws {
        let (engine, _) = try await keychain.setUp()
        let key = try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 2))
        try await engine.add("key", attributes: [.namedKeys: .keys([key.representation])])
        #expect(try key.signed(try await engine.result(key)))
        #expect(try await engine.delete("key") == 1)
        await expectRefused(key, engine, .deleted, "deleted")
        await engine.close()
        #expect(try edit { try Int.fetchOne($0, sql: "SELECT count(*) FROM items") } == 1)
    }

    @Test("its count is found by nobody, is kept by a repair, and no program changes it")
    func hidden() async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 2))
        try await engine.required.add("kept")
        #expect(try key.signed(try await engine.required.result(key)))
        for itemClass in ItemClass.allCases where itemClass != .genericPassword {
            await #expect(throws: KeychainError(.itemNotFound)) {
                try await engine.required.delete(
                    ItemQuery(itemClass: itemClass, limit: .all),
                    groups: [.ours, .theirs]
                )
            }
        }
        await engine?.close()
        engine = nil
        try edit {
            try $0.execute(sql: "UPDATE items SET data = zeroblob(length(data)) WHERE data IS NOT NULL")
        }
        let damaged = try await keychain.restart()
        let repair = try await damaged.repair(proof: try await damaged.passcodeProof(), accepting: true)
        #expect(repair.kept == 0 && repair.keptAside != nil, "\(repair)")
        #expect(try await usesLeft(key, damaged) == 1)
        #expect(try key.signed(try await damaged.result(key)))
        await expectRefused(key, damaged, .usedUp, "repaired")
        await damaged.close()
    }

    /// A change of the files behind the daemon's back.
    enum Forgery: CaseIterable, Sendable {
        case removed, changed, older
    }

    @Test("a count that was removed, changed or put back gives no use back", arguments: Forgery.allCases)
    func forged(_ forgery: Forgery) async throws {
        var engine: KeychainEngine? = try await keychain.setUp().0
        let key = try await engine.required.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 2))
        #expect(try key.signed(try await engine.required.result(key)))
        await engine?.close()
        engine = nil
        let former = try #require(
            try edit { try Row.fetchOne($0, sql: "SELECT attributes, keys FROM items") }
        )
        engine = try await keychain.restart()
        #expect(try key.signed(try await engine.required.result(key)))
        await engine?.close()
        engine = nil
        try edit { database in
            switch forgery {
            case .removed: try database.execute(sql: "DELETE FROM items")
            case .changed:
                try database.execute(sql: "UPDATE items SET attributes = zeroblob(length(attributes))")
            case .older:
                try database.execute(
                    sql: "UPDATE items SET attributes = ?, keys = ?",
                    arguments: StatementArguments(Array(former.databaseValues))
                )
            }
        }
        let later = try await keychain.restart()
        await #expect(throws: KeychainError.self) { try await later.result(key) }
        await #expect(throws: KeychainError.self) { try await usesLeft(key, later) }
        #expect(await !later.check().isSetAuthentic)
        await later.close()
    }

    @Test("in a full keychain the first use is refused and not made, others are counted on")
    func full() async throws {
        let keychain = TestKeychain(mostItems: 2)
        let (engine, _) = try await keychain.setUp()
        let (used, new) = (
            try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 3)),
            try await engine.makeKey(.privateKeyUsage, limits: try KeyLimits(uses: 3))
        )
        #expect(try used.signed(try await engine.result(used)))
        try await engine.add("other")
        let error = await #expect(throws: KeychainError(.diskFull)) { try await engine.result(new) }
        #expect(error?.cause == DriverCause(.storeFull, detail: "2"))
        #expect(try await usesLeft(new, engine) == 3)
        #expect(try used.signed(try await engine.result(used)))
        #expect(try await usesLeft(used, engine) == 1)
    }

    @Test("limits that allow no use are refused, on the socket too")
    func invalid() throws {
        for (starts, ends) in [(5, 5), (6, 5)] as [(UInt64, UInt64)] {
            #expect(throws: KeychainError(.param)) { try KeyLimits(starts: starts, ends: ends) }
        }
        for uses in [0, KeyLimits.mostUses + 1, .max] {
            #expect(throws: KeychainError(.param)) { try KeyLimits(uses: uses) }
        }
        let all = try KeyLimits(starts: 0, ends: .max, uses: KeyLimits.mostUses)
        #expect(all.refusal(at: .max) == nil && all.refusal(at: -1) == nil)
    }
}
