import AccountStore
import Foundation
import PostgreSQLStore
import SQLiteStore
import StoreTestKit
import Testing

@Suite("Limits, administrators, purging")
struct UpkeepTests {
    @Test("a limit's window begins with the first attempt and ends", arguments: StoreKind.allCases)
    func limits(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let key = LimitKey("address", "2001:db8::1")
            let limit = RateLimit(key, most: 2, window: .seconds(60))
            let other = RateLimit(LimitKey("options", "2001:db8::1"), most: 2, window: .seconds(60))
            let end = start + .seconds(60)
            for second in [0, 30] {
                #expect(try await store.take([limit, other], now: start + .seconds(second)) == .allowed)
            }
            #expect(
                try await store.take([limit, other], now: start + .seconds(59)) == .exceeded(key, until: end)
            )
            let ceremony = Sample.ceremony()
            let opened = try await store.openCeremony(ceremony, limits: [limit], now: start)
            #expect(opened == .exceeded(key, until: end))
            #expect(try await store.consumeCeremony(ceremony.id, presenting: nil, now: start) == nil)
            #expect(try await store.take([limit], now: end) == .allowed)
            try await store.reset([key])
            for _ in 0..<2 { #expect(try await store.take([limit], now: end) == .allowed) }
        }
    }

    @Test(
        "attempts that did not fail are given back to their window, alone or with a login",
        arguments: StoreKind.allCases
    )
    func givingBack(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let address = LimitKey("password-address", "192.0.2.1")
            let limit = RateLimit(address, most: 2, window: .seconds(60))
            let name = LimitKey("password", "ada")
            func attempt(_ now: Timestamp) async throws -> AttemptVerdict {
                try await store.takeAttempt(name, delay: { _ in .zero }, limits: [limit], now: now)
            }
            // An attempt given back leaves room in both counts.
            for _ in 0..<5 {
                #expect(try await attempt(start) == .allowed(failures: 0))
                try await store.giveBack([name, address], now: start)
            }
            #expect(try await attempt(start) == .allowed(failures: 0))
            let login = LoginCompletion(
                method: .password(checked: "$scrypt$1", rehashed: nil),
                session: Sample.session(person.account),
                tokens: Sample.tokens(),
                resetting: [name],
                givingBack: [address],
                audit: Sample.event(),
                now: start
            )
            #expect(try await store.completeLogin(login).session != nil)
            #expect(try await attempt(start) == .allowed(failures: 0))
            #expect(try await attempt(start) == .allowed(failures: 1))
            let end = start + .seconds(60)
            #expect(try await attempt(start) == .exceeded(address, until: end))
            // Counts never go below zero, and giving back does not touch a later window.
            #expect(try await attempt(end) == .allowed(failures: 2))
            try await store.giveBack([address], now: start)
            #expect(try await attempt(end) == .allowed(failures: 3))
            #expect(try await attempt(end) == .exceeded(address, until: end + .seconds(60)))
            for _ in 0..<9 { try await store.giveBack([address], now: end) }
            for failures in [4, 5] { #expect(try await attempt(end) == .allowed(failures: failures)) }
            #expect(try await attempt(end) == .exceeded(address, until: end + .seconds(60)))
        }
    }

    @Test(
        "each failure in a row lengthens the wait, up to the day's end; a login resets it",
        arguments: StoreKind.allCases
    )
    func attempts(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let key = LimitKey("password", "ada")
            func attempt(_ now: Timestamp) async throws -> AttemptVerdict {
                try await store.takeAttempt(
                    key,
                    delay: { $0 < 3 ? .seconds($0) : nil },
                    limits: [],
                    now: now
                )
            }
            #expect(try await attempt(start) == .allowed(failures: 0))
            #expect(try await attempt(start) == .wait(failures: 1, until: start + .seconds(1)))
            #expect(try await attempt(start + .seconds(1)) == .allowed(failures: 1))
            #expect(try await attempt(start + .seconds(3)) == .allowed(failures: 2))
            let end = start.endOfDay
            #expect(try await attempt(start + .seconds(60)) == .wait(failures: 3, until: end))
            #expect(try await attempt(end) == .allowed(failures: 3))
            let login = LoginCompletion(
                method: .password(checked: "$scrypt$1", rehashed: nil),
                session: Sample.session(person.account),
                tokens: Sample.tokens(),
                resetting: [key],
                audit: Sample.event(),
                now: end
            )
            #expect(try await store.completeLogin(login).session != nil)
            #expect(try await attempt(end) == .allowed(failures: 0))
        }
    }

    @Test(
        "the first administrator is created once, with the token offered last",
        arguments: StoreKind.allCases
    )
    func administrators(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let audit = Sample.event(.administration)
            let old = Sample.digest()
            let offered = Sample.digest()
            let end = start + .seconds(60)
            #expect(try await store.offerFirstAdmin(old, expiresAt: end, now: start) == .offered)
            #expect(try await store.offerFirstAdmin(offered, expiresAt: end, now: start) == .offered)
            let admin = AdminToken(digest: Sample.digest(), name: "root", createdAt: start)
            for (token, now) in [(old, start), (offered, end)] {
                await #expect(throws: StoreError(.notFound)) {
                    try await store.redeemFirstAdmin(token, for: admin, audit: audit, now: now)
                }
            }
            #expect(try await store.adminToken(admin.digest, now: start) == nil)
            try await store.redeemFirstAdmin(offered, for: admin, audit: audit, now: start)
            await #expect(throws: StoreError(.notFound)) {
                try await store.redeemFirstAdmin(offered, for: admin, audit: audit, now: start)
            }
            #expect(try await store.offerFirstAdmin(old, expiresAt: end, now: start) == .alreadyThere)
            #expect(try await store.adminToken(admin.digest, now: start) == admin)

            let second = AdminToken(digest: Sample.digest(), name: "deputy", createdAt: end, expiresAt: end)
            try await store.addAdminToken(second, audit: audit, now: start)
            await #expect(throws: StoreError(.conflict(.identifierTaken))) {
                try await store.addAdminToken(second, audit: audit, now: start)
            }
            #expect(try await store.adminTokens() == [admin, second])
            #expect(try await store.adminToken(second.digest, now: end) == nil)
            try await store.removeAdminToken(admin.digest, audit: audit, now: start)
            #expect(try await store.adminToken(admin.digest, now: start) == nil)
            await #expect(throws: StoreError(.notFound)) {
                try await store.removeAdminToken(admin.digest, audit: audit, now: start)
            }
        }
    }

    @Test("all servers share the secret that was proposed first", arguments: StoreKind.allCases)
    func secrets(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            #expect(try await store.sharedSecret(named: "nonce", proposing: [1]) == [1])
            let other = try await database.use { try await $0.sharedSecret(named: "nonce", proposing: [2]) }
            #expect(other == [1])
            #expect(try await store.sharedSecret(named: "names", proposing: [3]) == [3])
        }
    }

    @Test(
        "purging removes what has expired and nothing else, and audit chains continue",
        arguments: StoreKind.allCases,
        [1, 3, 500]
    )
    func purge(_ kind: StoreKind, _ rowsAtATime: Int) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let old = Sample.tokens()
            let late = start + .seconds(31 * 86_400)
            _ = try await person.logIn(tokens: old)
            _ = try await store.openCeremony(Sample.ceremony(), limits: [], now: start)
            let gone = Sample.transaction(person.account)
            try await store.createTransaction(gone, audit: Sample.event(.transactionCreated))
            let limit = RateLimit(LimitKey("a", "b"), most: 1, window: .seconds(1))
            _ = try await store.take([limit], now: start)
            _ = try await store.takeProof(ProofIdentifier(digest: [1], expiresAt: start), now: start)
            try await store.checkReady(now: start)

            let current = Sample.tokens(at: late)
            let session = try #require(try await person.logIn(tokens: current, at: late).session)
            let next = Sample.tokens(at: late)
            _ = try await person.refresh(current.refresh, to: next, at: late)
            let ceremony = Sample.ceremony(at: late)
            _ = try await store.openCeremony(ceremony, limits: [], now: late)
            var kept = Sample.transaction(person.account, at: late)

            try await store.createTransaction(kept, audit: Sample.event(.transactionCreated))
            kept.status = .pending

            func purge() async throws -> Int {
                var cursor: PurgeCursor?
                var removed = 0
                repeat {
                    let settings = PurgeSettings(rowsAtATime: rowsAtATime)
                    let part = try await store.purge(from: cursor, settings, now: late)
                    removed += part.removed
                    cursor = part.next
                } while cursor != nil
                return removed
            }
            // Ceremony, transaction, limit, proof, access token, refresh token, heartbeat, four audit records. The session was
            // removed when the next one began.
            #expect(try await purge() == 11)
            #expect(try await purge() == 0)
            #expect(try await store.transaction(gone.id, now: start) == nil)
            #expect(try await store.transaction(kept.id, now: late) == kept)
            #expect(try await store.consumeCeremony(ceremony.id, presenting: nil, now: late) != nil)
            #expect(try await store.liveSession(next.refresh, .refresh, now: late)?.session.id == session.id)
            #expect(try await store.liveSession(next.access, .access, now: late) != nil)
            // Replaced a moment ago: kept, so that reusing it later ends the session.
            #expect(try await person.refresh(current.refresh, at: late + .seconds(31)) == .refused(.reused))
            let records = try await store.auditPage(of: person.account.id, after: 0, count: 100)
            #expect(records.first?.sequence == 5 && records.count == 4)
            #expect(AuditChain.fault(in: records) == nil)
        }
    }

    @Test("the newest record of a chain is kept whatever its age", arguments: StoreKind.allCases)
    func lastRecord(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let late = start + .seconds(99 * 86_400)
            var cursor: PurgeCursor?
            repeat {
                cursor = try await store.purge(from: cursor, PurgeSettings(), now: late).next
            } while cursor != nil
            #expect(try await person.audit() == ["credential_registered"])
            _ = try await person.logIn(at: late)
            #expect(
                try await store.auditPage(of: person.account.id, after: 0, count: 9).map(\.sequence) == [
                    2, 3,
                ]
            )
            _ = try await person.audit()
        }
    }

    @Test("changed, removed and inserted records break the chain")
    func chain() async throws {
        try await withStore(.sqlite) { store in
            let person = try await Person(store)
            for _ in 0..<4 { _ = try await person.logIn() }
            let records = try await store.auditPage(of: person.account.id, after: 0, count: 100)
            #expect(records.count == 6 && AuditChain.fault(in: records) == nil)
            var without = records
            without.remove(at: 2)
            #expect(AuditChain.fault(in: without) == .broken(after: 2))
            let third = records[2]
            func with(_ event: AuditEvent, _ time: Timestamp, _ sequence: Int64) -> [AuditRecord] {
                var changed = records
                changed[2] = AuditRecord(
                    position: third.position,
                    chain: third.chain,
                    sequence: sequence,
                    time: time,
                    event: event,
                    previousHash: third.previousHash,
                    hash: third.hash
                )
                return changed
            }
            var event = third.event
            event.address = "192.0.2.2"
            #expect(AuditChain.fault(in: with(event, third.time, 3)) == .changed(sequence: 3))
            #expect(
                AuditChain.fault(in: with(third.event, third.time + .seconds(1), 3)) == .changed(sequence: 3)
            )
            #expect(AuditChain.fault(in: with(third.event, third.time, 9)) == .broken(after: 2))
        }
    }

    @Test(
        "both databases store a text with U+0000, and the chain stays valid",
        arguments: StoreKind.allCases
    )
    func zeros(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            try await store.renameCredential(
                person.credential.id,
                of: person.account.id,
                label: "a\0b",
                audit: AuditEvent(.credentialRenamed, reason: "a\0b", details: "\0"),
                now: start
            )
            #expect(
                try await store.credential(person.credential.id, of: person.account.id)?.label.hasPrefix("a")
                    == true
            )
            #expect(try await person.audit().count == 3)
        }
    }

    @Test("sixteen concurrent logins share commits")
    func commits() async throws {
        try await withStore(.sqlite) { store in
            let people = try await withThrowingTaskGroup(of: Person.self) { group in
                for number in 0..<16 { group.addTask { try await Person(store, "user \(number)") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let before = store.statistics
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in people {
                    group.addTask {
                        for _ in 0..<20 {
                            let ceremony = Sample.ceremony(person.account)
                            _ = try await store.openCeremony(ceremony, limits: [], now: start)
                            let id = person.credential.id
                            let taken = try await store.consumeCeremony(
                                ceremony.id,
                                presenting: id,
                                now: start
                            )
                            #expect(taken != nil)
                            #expect(try await person.logIn().session != nil)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let commits = store.statistics.commits - before.commits
            #expect(store.statistics.writes - before.writes == 16 * 20 * 3)
            // A login has three transactions; without sharing that is three commits.
            #expect(commits < 16 * 20, "\(commits) commits for \(16 * 20) logins")
            print("commits a login at 16 at a time: \(Double(commits) / 320)")
        }
    }
}
