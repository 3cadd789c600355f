import AccountStore
import StoreTestKit
import Testing

@Suite("Checking all chains of the audit")
struct AuditVerifierTests {
    /// The chain of the only account; those of the store have shorter ids.
    private static let own = "length(chain) = 32"

    /// A store with one account, whose chain has six records, and with two records of the store's own.
    private static func with(
        _ kind: StoreKind,
        _ body: (any AccountStore, any TestDatabase, Person) async throws -> Void
    ) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            for _ in 0..<4 { _ = try await person.logIn() }
            for _ in 0..<2 { try await store.record([AuditEvent(.startup)], now: start) }
            try await body(store, database, person)
        }
    }

    /// The kind of the first flaw and its number in the chain; nil: there is none.
    private static func flaw(
        _ store: any AccountStore,
        keepsAll: Bool = false,
        portion: Int = 1000
    ) async throws -> Flaw? {
        guard
            case .flawed(let flaw) = try await AuditVerifier(store, keepsAll: keepsAll, portion: portion)
                .verify()
        else { return nil }
        return Flaw(flaw.kind, flaw.place.sequence)
    }

    private struct Flaw: Equatable {
        let kind: AuditFlaw.Kind
        let sequence: Int64

        init(_ kind: AuditFlaw.Kind, _ sequence: Int64) {
            self.kind = kind
            self.sequence = sequence
        }
    }

    @Test("an empty store is whole", arguments: StoreKind.allCases)
    func empty(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let verdict = try await AuditVerifier(store, keepsAll: true).verify()
            #expect(verdict == .whole(records: 0, chains: 0))
        }
    }

    @Test(
        "chains of accounts and of the store are whole, in portions of any size",
        arguments: StoreKind.allCases,
        [2, 3, 7, 8, 9, 1000]
    )
    func intact(_ kind: StoreKind, _ portion: Int) async throws {
        try await Self.with(kind) { store, _, _ in
            let other = try await Person(store, "eve")
            try await store.deleteAccount(other.account.id, audit: Sample.event(.userDeleted), now: start)
            var told: [Int] = []
            let verdict = try await AuditVerifier(store, keepsAll: true, portion: portion).verify {
                told.append($0)
            }
            guard case .whole(let records, let chains) = verdict else {
                Issue.record("\(verdict)")
                return
            }
            // PostgreSQL's connections have a chain each.
            #expect(records == 11 && (3...4).contains(chains))
            #expect(told.last == 11 && told == told.sorted())
        }
    }

    @Test("every field is covered, in the first, a middle and the last record", arguments: StoreKind.allCases)
    func fields(_ kind: StoreKind) async throws {
        try await Self.with(kind) { store, database, person in
            let bytes = kind == .sqlite ? "x'00'" : "'\\x00'"
            for (column, value) in [
                ("time", "time + 1"), ("name", "'x'"), ("session", bytes), ("credential", bytes),
                ("address", "'x'"), ("trace", "'x'"), ("reason", "'x'"), ("details", "'{}'"), ("hash", bytes),
            ] {
                for number: Int64 in [1, 3, 6] {
                    let place = "\(Self.own) AND sequence = \(number)"
                    try database.run(
                        """
                        CREATE TABLE kept AS SELECT * FROM audit WHERE \(place);
                        UPDATE audit SET \(column) = \(value) WHERE \(place)
                        """
                    )
                    let verdict = try await AuditVerifier(store, keepsAll: false).verify()
                    guard case .flawed(let flaw) = verdict else {
                        Issue.record("\(column) of \(number): \(verdict)")
                        continue
                    }
                    #expect(Flaw(flaw.kind, flaw.place.sequence) == Flaw(.changed, number), "\(column)")
                    #expect(flaw.account == person.account.id && flaw.position > 0)
                    try database.run(
                        """
                        DELETE FROM audit WHERE \(place);
                        INSERT INTO audit SELECT * FROM kept;
                        DROP TABLE kept
                        """
                    )
                }
            }
            #expect(try await Self.flaw(store) == nil)
            // A link that was changed, of the first and of another record.
            try database.run("UPDATE audit SET previous_hash = \(bytes) WHERE \(Self.own) AND sequence = 4")
            #expect(try await Self.flaw(store) == Flaw(.missingAfter, 3))
            try database.run("UPDATE audit SET previous_hash = \(bytes) WHERE \(Self.own) AND sequence = 1")
            #expect(try await Self.flaw(store) == Flaw(.changed, 1))
        }
    }

    @Test(
        "removed, exchanged and inserted records are found; of the end only a head tells",
        arguments: StoreKind.allCases,
        [2, 3, 4, 1000]
    )
    func places(_ kind: StoreKind, _ portion: Int) async throws {
        let changes: [(sql: String, flaw: Flaw?)] = [
            ("DELETE FROM audit WHERE sequence = 3 AND \(Self.own)", Flaw(.missingAfter, 2)),
            ("DELETE FROM audit WHERE sequence = 6 AND \(Self.own)", nil),
            ("DELETE FROM audit WHERE \(Self.own)", nil),
            ("DELETE FROM audit WHERE sequence = 1 AND \(Self.own)", nil),
            (
                """
                UPDATE audit SET sequence = 99 WHERE sequence = 3 AND \(Self.own);
                UPDATE audit SET sequence = 3 WHERE sequence = 4 AND \(Self.own);
                UPDATE audit SET sequence = 4 WHERE sequence = 99 AND \(Self.own)
                """, Flaw(.missingAfter, 2)
            ),
            (
                """
                INSERT INTO audit SELECT position + 1000000, chain, 7, time, name, session, credential, address,
                    trace, reason, details, previous_hash, hash
                FROM audit WHERE sequence = 6 AND \(Self.own)
                """, Flaw(.missingAfter, 6)
            ),
            ("UPDATE audit SET position = position + 1000000 WHERE sequence = 3 AND \(Self.own)", nil),
        ]
        for (sql, flaw) in changes {
            try await Self.with(kind) { store, database, _ in
                let head = try #require(
                    AuditHead(of: try await settledAudit(store, count: 8), following: nil)
                )
                try database.run(sql)
                let found = try await Self.flaw(store, portion: portion)
                #expect(found == flaw, "\(sql)")
                // Each change is found by the one or the other.
                let isCovered = head.covers(try await store.auditPage(after: 0, count: 100))
                #expect(found != nil || !isCovered, "\(sql)")
            }
        }
    }

    @Test("a beginning that is missing is a flaw only where nothing expires", arguments: StoreKind.allCases)
    func beginning(_ kind: StoreKind) async throws {
        try await Self.with(kind) { store, database, _ in
            try database.run("DELETE FROM audit WHERE sequence < 3 AND \(Self.own)")
            #expect(try await Self.flaw(store) == nil)
            #expect(try await Self.flaw(store, keepsAll: true) == Flaw(.beginningMissing, 3))
        }
    }

    @Test(
        "what is changed while the chains are read is found, and expiry is not",
        arguments: StoreKind.allCases
    )
    func meanwhile(_ kind: StoreKind) async throws {
        let isSecond = "sequence = 2 AND \(Self.own)"
        let changes: [(sql: String, keepsAll: Bool, kind: AuditFlaw.Kind?)] = [
            ("DELETE FROM audit WHERE \(isSecond)", false, .missing),
            ("DELETE FROM audit WHERE sequence > 1 AND \(Self.own)", false, .missing),
            ("DELETE FROM audit WHERE sequence < 5 AND \(Self.own)", true, .missing),
            ("DELETE FROM audit WHERE sequence < 5 AND \(Self.own)", false, nil),
            ("UPDATE audit SET reason = 'x' WHERE \(isSecond)", false, .changed),
        ]
        for (sql, keepsAll, expected) in changes {
            try await withStore(kind) { store, database in
                let person = try await Person(store)
                for _ in 0..<4 { _ = try await person.logIn() }
                var failure: (any Error)?
                let verdict = try await AuditVerifier(store, keepsAll: keepsAll, portion: 2).verify { count in
                    guard count == 2 else { return }
                    do { try database.run(sql) } catch { failure = error }
                }
                #expect(failure == nil)
                switch verdict {
                case .whole: #expect(expected == nil, "\(sql)")
                case .flawed(let flaw): #expect(flaw.kind == expected && flaw.place.sequence == 2, "\(sql)")
                }
            }
        }
    }

    @Test(
        "while events are written and expire the chains are whole at any time",
        arguments: StoreKind.allCases
    )
    func written(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let people = [try await Person(store), try await Person(store, "eve")]
            let retention = PurgeSettings().auditRetention
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in people {
                    group.addTask {
                        // Times as several servers' clocks have them.
                        for second in 0..<60 {
                            let now = start + .seconds(second.isMultiple(of: 2) ? second : second - 3)
                            _ = try await person.logIn(at: now)
                        }
                    }
                }
                group.addTask {
                    for second in 0..<60 {
                        var cursor: PurgeCursor?
                        repeat {
                            cursor = try await store.purge(
                                from: cursor,
                                PurgeSettings(rowsAtATime: 3),
                                now: start + retention + .seconds(second)
                            ).next
                        } while cursor != nil
                    }
                }
                for portion in [2, 5, 1000] {
                    group.addTask {
                        for _ in 0..<15 {
                            let flaw = try await Self.flaw(store, portion: portion)
                            #expect(flaw == nil)
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test(
        "only a beginning of a chain expires, whatever the order of times and positions",
        arguments: StoreKind.allCases,
        [1, 3, 500]
    )
    func expiry(_ kind: StoreKind, _ rowsAtATime: Int) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            for second in [10, 5, 20] { _ = try await person.logIn(at: start + .seconds(second)) }
            func purge(_ second: Int) async throws {
                var cursor: PurgeCursor?
                let settings = PurgeSettings(rowsAtATime: rowsAtATime)
                repeat {
                    let now = start + settings.auditRetention + .seconds(second)
                    cursor = try await store.purge(from: cursor, settings, now: now).next
                    #expect(try await Self.flaw(store) == nil)
                } while cursor != nil
            }
            func numbers() async throws -> [Int64] {
                try await store.auditPage(of: person.account.id, after: 0, count: 9).map(\.sequence)
            }
            // The fourth is as old as that, the third is not.
            try await purge(7)
            #expect(try await numbers() == [3, 4, 5])
            // The third's position is after the fourth's, as when transactions of PostgreSQL overlap.
            try database.run(
                "UPDATE audit SET position = position + 1000000 WHERE sequence = 3 AND \(Self.own)"
            )
            for _ in 0..<3 { try await purge(15) }
            #expect(try await numbers() == [5])
        }
    }
}
