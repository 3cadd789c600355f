import AccountStore
import Foundation
import StoreTestKit
import Testing

/// What the verifier throws for a bad answer.
private struct Unconvinced: Error, Equatable {}

@Suite("A ceremony, its answer and the session in one transaction")
struct CeremonyLoginTests {
    /// Signs in by a ceremony, with a verifier that accepts or rejects the answer.
    private func logIn(
        _ store: any AccountStore,
        _ ceremony: Ceremony,
        _ person: Person,
        presenting credential: CredentialID? = nil,
        _ completion: LoginCompletion? = nil,
        isGood: Bool = true,
        at now: Timestamp = start
    ) async throws -> CeremonyLogin<Unconvinced> {
        let completion = completion ?? person.login(at: now)
        return try await store.completeLogin(
            by: ceremony.id,
            presenting: credential ?? person.credential.id,
            now: now
        ) { _ throws(Unconvinced) in
            guard isGood else { throw Unconvinced() }
            return completion
        }
    }

    private func opened(_ store: any AccountStore, _ person: Person) async throws -> Ceremony {
        let ceremony = Sample.ceremony(person.account)
        #expect(try await store.openCeremony(ceremony, limits: [], now: start) == .allowed)
        return ceremony
    }

    @Test(
        "the verifier gets the stored records, and an accepted answer opens a session",
        arguments: StoreKind.allCases
    )
    func completed(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, signCount: 4)
            let ceremony = try await opened(store, person)
            let tokens = Sample.tokens()
            let completion = person.login(signCount: 5, tokens: tokens)
            let seen = ConsumedCeremony(
                ceremony: ceremony,
                credential: person.credential,
                account: person.account
            )
            let login = try await store.completeLogin(
                by: ceremony.id,
                presenting: person.credential.id,
                now: start
            ) { taken throws(Unconvinced) in
                guard taken == seen else { throw Unconvinced() }
                return completion
            }
            #expect(login.session == completion.session)
            #expect(try await store.liveSession(tokens.access, .access, now: start) != nil)
            #expect(try await store.credential(person.credential.id, of: person.account.id)?.signCount == 5)
            #expect(try await person.audit().last == "authn_login_success")
            let again = try await logIn(store, ceremony, person)
            #expect(again.isWithoutCeremony)
        }
    }

    @Test("PostgreSQL finds the rows of a login by key, even with plans for empty tables")
    func withoutScans() async throws {
        let cluster = try await PostgreSQLCluster.shared.value
        let database = try await cluster.makeDatabase()
        func scans() throws -> String {
            // A connection's counts are complete when it has ended. Renaming waits for that, and fails if one remains.
            let (name, other) = (database.name, "\(database.name)_closed")
            try cluster.psql("ALTER DATABASE \(name) RENAME TO \(other)", in: "postgres")
            try cluster.psql("ALTER DATABASE \(other) RENAME TO \(name)", in: "postgres")
            return try cluster.psql(
                """
                SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname <> 'schema_version' ORDER BY relname
                """,
                in: database.name
            )
        }
        let store = try await database.open()
        let person = try await Person(store)
        await store.close()
        try cluster.psql("ANALYZE", in: database.name)
        let before = try scans()
        let again = try await database.open()
        for run in 0..<50 {
            let ceremony = Sample.ceremony(person.account)
            let limit = RateLimit(LimitKey("address", "192.0.2.\(run)"), most: 5, window: .seconds(60))
            #expect(try await again.openCeremony(ceremony, limits: [limit], now: start) == .allowed)
            let login = try await logIn(again, ceremony, person)
            #expect(login.session != nil)
        }
        await again.close()
        #expect(try scans() == before)
        await database.remove()
    }

    @Test("of sixteen logins with the same answer, one succeeds", arguments: StoreKind.allCases)
    func replayed(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            // Two server processes, eight clients each.
            let other = try await database.open()
            for _ in 0..<10 {
                let ceremony = try await opened(store, person)
                let logins = try await withThrowingTaskGroup(of: CeremonyLogin<Unconvinced>.self) { group in
                    for client in 0..<16 {
                        group.addTask { try await logIn(client % 2 == 0 ? store : other, ceremony, person) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(logins.count { $0.session != nil } == 1)
                #expect(logins.count { $0.isWithoutCeremony } == 15)
            }
            await other.close()
            #expect(try await store.sessions(of: person.account.id, now: start).count == 10)
            #expect(try await person.audit().count { $0 == "authn_login_success" } == 10)
        }
    }

    @Test("a rejected answer consumes its ceremony and changes nothing else", arguments: StoreKind.allCases)
    func refused(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let ceremony = try await opened(store, person)
            guard
                case .refused(Unconvinced(), let taken) = try await logIn(
                    store,
                    ceremony,
                    person,
                    isGood: false
                )
            else {
                Issue.record("not refused")
                return
            }
            #expect(taken.credential == person.credential && taken.ceremony == ceremony)
            #expect(try await logIn(store, ceremony, person).isWithoutCeremony)
            #expect(try await store.sessions(of: person.account.id, now: start) == [])
            let stored = try await store.credential(person.credential.id, of: person.account.id)
            #expect(stored == person.credential)
            #expect(try await person.audit() == ["user_created", "credential_registered"])
        }
    }

    @Test("an expired ceremony cannot be used", arguments: StoreKind.allCases)
    func late(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let ceremony = try await opened(store, person)
            #expect(try await logIn(store, ceremony, person, at: ceremony.expiresAt).isWithoutCeremony)
            #expect(try await logIn(store, ceremony, person).isWithoutCeremony)
        }
    }

    @Test(
        "a cloned counter, a suspended credential and a locked account are refused here too",
        arguments: StoreKind.allCases
    )
    func lastStep(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, signCount: 7)
            let cloned = try await logIn(
                store,
                try await opened(store, person),
                person,
                person.login(signCount: 7)
            )
            #expect(cloned.refusal == .clonedCounter)
            let suspended = try await logIn(
                store,
                try await opened(store, person),
                person,
                person.login(signCount: 8)
            )
            #expect(suspended.refusal == .credentialSuspended)

            let locked = try await Person(store, "grace")
            try await store.setLocked(
                true,
                account: locked.account.id,
                audit: Sample.event(.loginLock),
                now: start
            )
            let shut = try await logIn(store, try await opened(store, locked), locked)
            #expect(shut.refusal == .accountLocked)
            #expect(try await store.sessions(of: locked.account.id, now: start) == [])
        }
    }

    @Test("an account locked during its login has no session afterwards", arguments: StoreKind.allCases)
    func lockedMeanwhile(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let other = try await database.open()
            for round in 0..<20 {
                let person = try await Person(store, "user \(round)")
                let ceremony = try await opened(store, person)
                async let login = logIn(store, ceremony, person)
                async let lock: Void = other.setLocked(
                    true,
                    account: person.account.id,
                    audit: Sample.event(.loginLock),
                    now: start
                )
                let (ended, _) = try await (login, lock)
                #expect(ended.session != nil || ended.refusal == .accountLocked)
                #expect(try await store.sessions(of: person.account.id, now: start) == [])
                // The chain is valid and has both events.
                #expect(try await person.audit().count == 4)
            }
            await other.close()
        }
    }

    @Test(
        "sixteen concurrent logins to one account succeed, each with its own ceremony",
        arguments: StoreKind.allCases
    )
    func manyAtATime(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            let other = try await database.open()
            var ceremonies: [Ceremony] = []
            for _ in 0..<16 { ceremonies.append(try await opened(store, person)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, ceremony) in ceremonies.enumerated() {
                    group.addTask {
                        let login = try await logIn(number % 2 == 0 ? store : other, ceremony, person)
                        #expect(login.session != nil)
                    }
                }
                try await group.waitForAll()
            }
            await other.close()
            #expect(try await store.sessions(of: person.account.id, now: start).count == 10)
            let audit = try await person.audit()
            #expect(audit.count { $0 == "authn_login_success" } == 16)
            #expect(audit.count { $0 == "excess_sessions_exceeded" } == 6)
        }
    }

    @Test("a login for another account than the credential's is refused", arguments: StoreKind.allCases)
    func otherAccount(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let ada = try await Person(store)
            let grace = try await Person(store, "grace")
            let login = try await logIn(
                store,
                try await opened(store, ada),
                ada,
                LoginCompletion(
                    method: .credential(Sample.use(ada.credential, signCount: 0)),
                    session: Sample.session(grace.account, credential: ada.credential),
                    tokens: Sample.tokens(),
                    audit: Sample.event(),
                    now: start
                )
            )
            #expect(login.refusal == .noCredential)
            #expect(try await store.sessions(of: grace.account.id, now: start) == [])
        }
    }

    @Test(
        "for an unknown credential the verifier gets no credential and no account",
        arguments: StoreKind.allCases
    )
    func unknown(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let ceremony = try await opened(store, person)
            let login = try await logIn(
                store,
                ceremony,
                person,
                presenting: CredentialID([1]),
                isGood: false
            )
            guard case .refused(Unconvinced(), let taken) = login else {
                Issue.record("not refused")
                return
            }
            #expect(taken == ConsumedCeremony(ceremony: ceremony, credential: nil, account: nil))
        }
    }

    @Test("a renewal keeps the session and replaces its tokens", arguments: StoreKind.allCases)
    func renewal(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let old = Sample.tokens()
            let session = try #require(try await person.logIn(tokens: old).session)
            let new = Sample.tokens()
            let login = try await logIn(
                store,
                try await opened(store, person),
                person,
                LoginCompletion(
                    method: .credential(Sample.use(person.credential, signCount: 0)),
                    target: .renewal(of: ["phrh"]),
                    session: session,
                    tokens: new,
                    audit: Sample.event(.sessionRenewed),
                    now: start
                )
            )
            #expect(login.session?.id == session.id)
            #expect(try await store.liveSession(old.access, .access, now: start) == nil)
            #expect(try await store.liveSession(new.access, .access, now: start) != nil)
        }
    }

    @Test("an operation that fails does not roll back those committed together with it")
    func together() async throws {
        try await withStore(.sqlite) { store in
            let person = try await Person(store)
            let taken = try await opened(store, person)
            // Some fail before they write (no such session), some after (the ceremony exists, but its limit was already counted).
            let limit = RateLimit(LimitKey("test", "one"), most: 1000, window: .seconds(60))
            let outcomes = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
                for number in 0..<64 {
                    group.addTask {
                        do throws(StoreError) {
                            switch number % 4 {
                            case 0:
                                try await store.endSession(
                                    .random(),
                                    of: person.account.id,
                                    audit: Sample.event(.sessionLogout),
                                    now: start
                                )
                            case 1: _ = try await store.openCeremony(taken, limits: [limit], now: start)
                            default:
                                _ = try await store.openCeremony(
                                    Sample.ceremony(),
                                    limits: [limit],
                                    now: start
                                )
                            }
                            return (number, true)
                        } catch {
                            return (number, false)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count == 64)
            for (number, isDone) in outcomes { #expect(isDone == (number % 4 > 1)) }
            // Failed operations were not counted.
            let one = RateLimit(limit.key, most: 33, window: .seconds(60))
            #expect(try await store.take([one], now: start) == .allowed)
            let exceeded = try await store.take([one], now: start)
            #expect(exceeded == .exceeded(limit.key, until: start + .seconds(60)))
        }
    }
}

extension CeremonyLogin {
    fileprivate var session: Session? {
        guard case .verified(let outcome) = self else { return nil }
        return outcome.session
    }

    fileprivate var refusal: LoginRefusal? {
        guard case .verified(.refused(let refusal)) = self else { return nil }
        return refusal
    }

    fileprivate var isWithoutCeremony: Bool {
        if case .noCeremony = self { true } else { false }
    }
}
