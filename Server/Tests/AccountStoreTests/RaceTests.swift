import AccountStore
import Foundation
import Testing

/// Concurrent calls through two stores on one database behave as if they were serialized.
@Suite("Concurrent operations")
struct RaceTests {
    /// Repetitions of each race.
    private let rounds = 20

    /// Runs `body` concurrently, each time on a store of its own, and returns the results.
    private func race<R: Sendable>(
        _ database: any TestDatabase,
        count: Int = 4,
        _ body: @escaping @Sendable (any AccountStore, Int) async throws -> R
    ) async throws -> [R] {
        var stores: [any AccountStore] = []
        for _ in 0..<count { stores.append(try await database.open()) }
        let all = stores
        let answers = try await withThrowingTaskGroup(of: R.self) { group in
            for (number, store) in all.enumerated() { group.addTask { try await body(store, number) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for store in all { await store.close() }
        return answers
    }

    @Test(
        "a ceremony, activation, proof or first admin token is given to one of several concurrent callers",
        arguments: StoreKind.allCases
    )
    func takenOnce(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            let ceremonies = (0..<rounds).map { _ in Sample.ceremony() }
            for ceremony in ceremonies { _ = try await store.openCeremony(ceremony, limits: [], now: start) }
            let activation = Activation(
                id: .random(),
                account: person.account.id,
                secretDigest: [1],
                certificate: [2],
                deviceAnchor: [3],
                expiresAt: start + .seconds(60)
            )
            try await store.openActivation(activation, now: start)
            let offered = Sample.digest()
            let end = start + .seconds(60)
            #expect(try await store.offerFirstAdmin(offered, expiresAt: end, now: start) == .offered)
            let won = try await race(database) { store, number in
                var won = 0
                for ceremony in ceremonies {
                    let taken = try await store.consumeCeremony(ceremony.id, presenting: nil, now: start)
                    won += taken == nil ? 0 : 1
                }
                let taken = try await store.consumeActivation(
                    activation.id,
                    of: person.account.id,
                    now: start
                )
                won += taken == nil ? 0 : 1
                for digest in 0..<UInt8(20) {
                    let proof = ProofIdentifier(digest: [digest], expiresAt: end)
                    won += try await store.takeProof(proof, now: start) == .fresh ? 1 : 0
                }
                do {
                    try await store.redeemFirstAdmin(
                        offered,
                        for: AdminToken(digest: Sample.digest(), name: "\(number)", createdAt: start),
                        audit: Sample.event(.administration),
                        now: start
                    )
                    won += 1
                } catch let error as StoreError where error.code == .notFound {}
                return won
            }
            #expect(won.reduce(0, +) == rounds + 1 + 20 + 1)
            #expect(try await store.adminTokens().count == 1)
        }
    }

    @Test(
        "of eight at once one gets in by a link, and one by a recovery code",
        arguments: StoreKind.allCases
    )
    func wayIn(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            for round in 0..<3 {
                let person = try await Person(store, "user \(round)")
                let link = Sample.link(person.account, .recovery, round == 0 ? .end : .keep)
                #expect(try await store.issue(link, audit: Sample.event(.linkIssued), now: start) == .issued)
                try await store.replaceRecoveryCodes(
                    by: [[1], [2]],
                    of: person.account.id,
                    audit: Sample.event(.recoveryCodesCreated),
                    now: start
                )
                for (method, refusal) in [
                    (LoginCompletion.Method.recoveryCode([1], .keep), LoginRefusal.noRecoveryCode),
                    (.link(link), .noLink),
                ] {
                    let outcomes = try await race(database, count: 8) { store, _ in
                        try await store.completeLogin(
                            LoginCompletion(
                                method: method,
                                session: Sample.limitedSession(person.account),
                                tokens: Sample.tokens(),
                                audit: Sample.event(.linkRedeemed),
                                now: start
                            )
                        )
                    }
                    #expect(outcomes.count { $0.session != nil } == 1)
                    #expect(outcomes.count { $0 == .refused(refusal) } == 7)
                }
                let left = try await store.recoveryCodes(of: person.account.id).left
                #expect(left == (round == 0 ? 0 : 1))
                _ = try await person.audit()
            }
        }
    }

    @Test(
        "of eight requests of one limited session, to register and to set the password, one counts",
        arguments: StoreKind.allCases
    )
    func task(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            for round in 0..<3 {
                let person = try await Person(store, "user \(round)")
                let account = person.account
                let link = Sample.link(account, .enrolment)
                _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
                let session = Sample.limitedSession(account)
                let login = LoginCompletion(
                    method: .link(link),
                    session: session,
                    tokens: Sample.tokens(),
                    audit: Sample.event(.linkRedeemed),
                    now: start
                )
                #expect(try await store.completeLogin(login).session != nil)
                let done = try await race(database, count: 8) { store, number in
                    do {
                        guard number % 2 == 0 else {
                            try await store.changePassword(
                                of: account.id,
                                checked: account.password?.hash,
                                to: PasswordRecord(hash: "$scrypt$new-\(number)", changedAt: start),
                                keeping: session.id,
                                task: .setUp,
                                audit: Sample.event(.passwordChange),
                                now: start
                            )
                            return true
                        }
                        _ = try await store.registerCredential(
                            Sample.credential(account),
                            keeping: session.id,
                            task: .setUp,
                            audit: Sample.event(.credentialRegistered),
                            now: start
                        )
                        return true
                    } catch let error as StoreError
                        where [.conflict(.sessionEnded), .conflict(.passwordChanged)].contains(error.code)
                    { return false }
                }
                #expect(done.count { $0 } == 1)
                let credentials = try await store.credentials(of: account.id).count
                let isChanged = try await store.account(account.id)?.password != account.password
                #expect((credentials == 2) != isChanged)
                #expect(try await store.sessions(of: account.id, now: start) == [])
                _ = try await person.audit()
            }
        }
    }

    @Test(
        "of two logins with the same counter, one succeeds and the other suspends the credential",
        arguments: StoreKind.allCases
    )
    func counters(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            var people: [Person] = []
            for number in 0..<rounds { people.append(try await Person(store, "user \(number)")) }
            let all = people
            let outcomes = try await race(database, count: 2) { store, _ in
                var outcomes: [LoginOutcome] = []
                for person in all {
                    outcomes.append(
                        try await store.completeLogin(
                            LoginCompletion(
                                method: .credential(Sample.use(person.credential, signCount: 1)),
                                session: Sample.session(person.account, credential: person.credential),
                                tokens: Sample.tokens(),
                                audit: Sample.event(),
                                now: start
                            )
                        )
                    )
                }
                return outcomes
            }
            for (number, person) in people.enumerated() {
                let both = [outcomes[0][number], outcomes[1][number]]
                #expect(both.count { $0.session != nil } == 1)
                #expect(both.count { $0 == .refused(.clonedCounter) } == 1)
                let stored = try await store.credential(person.credential.id, of: person.account.id)
                #expect(stored?.suspension == .clonedCounter)
                #expect(try await store.sessions(of: person.account.id, now: start) == [])
                #expect(try await person.audit().count == 5)
            }
        }
    }

    @Test(
        "after many concurrent logins ten sessions are left and the audit chain is valid",
        arguments: StoreKind.allCases
    )
    func sessions(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            _ = try await race(database) { store, _ in
                for number in 0..<5 {
                    let outcome = try await store.completeLogin(
                        LoginCompletion(
                            method: .credential(Sample.use(person.credential, signCount: 0)),
                            session: Sample.session(person.account, at: start + .seconds(number)),
                            tokens: Sample.tokens(),
                            audit: Sample.event(),
                            now: start
                        )
                    )
                    #expect(outcome.session != nil)
                }
            }
            #expect(try await store.sessions(of: person.account.id, now: start).count == 10)
            let audit = try await person.audit()
            #expect(audit.count { $0 == "authn_login_success" } == 20)
            #expect(audit.count { $0 == "excess_sessions_exceeded" } == 10)
        }
    }

    @Test(
        "two concurrent refreshes of one unbound token both get a successor; using one retires the token",
        arguments: StoreKind.allCases
    )
    func refreshes(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            for _ in 0..<5 {
                let first = Sample.tokens()
                _ = try await person.logIn(tokens: first)
                let tokens = [Sample.tokens(), Sample.tokens()]
                let outcomes = try await race(database, count: 2) { store, number in
                    try await store.refresh(
                        RefreshRequest(
                            token: first.refresh,
                            tokens: tokens[number],
                            audit: Sample.event(.sessionRenewed),
                            now: start
                        )
                    )
                }
                for outcome in outcomes {
                    guard case .renewed = outcome else {
                        Issue.record("\(outcome)")
                        return
                    }
                }
                for pair in tokens {
                    #expect(try await store.liveSession(pair.refresh, .refresh, now: start) != nil)
                }
                // Once a successor was used, the first token counts as reused.
                _ = try await person.refresh(tokens[1].refresh)
                #expect(try await person.refresh(first.refresh) == .refused(.reused))
            }
            _ = try await person.audit()
        }
    }

    @Test("a session ended during a refresh leaves no valid token", arguments: StoreKind.allCases)
    func revocations(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            for _ in 0..<rounds {
                let tokens = Sample.tokens()
                let new = Sample.tokens()
                let session = try #require(try await person.logIn(tokens: tokens).session)
                _ = try await race(database, count: 2) { store, number in
                    if number == 0 {
                        _ = try await store.refresh(
                            RefreshRequest(
                                token: tokens.refresh,
                                tokens: new,
                                audit: Sample.event(.sessionRenewed),
                                now: start
                            )
                        )
                    } else {
                        try await store.endSession(
                            session.id,
                            of: person.account.id,
                            audit: Sample.event(.sessionLogout),
                            now: start
                        )
                    }
                }
                for digest in [tokens.access, new.access] {
                    #expect(try await store.liveSession(digest, .access, now: start) == nil)
                }
                for digest in [tokens.refresh, new.refresh] {
                    #expect(try await store.liveSession(digest, .refresh, now: start) == nil)
                }
            }
            _ = try await person.audit()
        }
    }

    @Test("a limit counts the attempts on all servers", arguments: StoreKind.allCases)
    func limits(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let limit = RateLimit(LimitKey("address", "192.0.2.1"), most: 20, window: .seconds(60))
            let passed = try await race(database) { store, _ in
                var count = 0
                for _ in 0..<10 { count += try await store.take([limit], now: start) == .allowed ? 1 : 0 }
                return count
            }
            #expect(passed.reduce(0, +) == 20)
            // Attempts at a password: of all in the same second, one is allowed.
            let tried = try await race(database) { store, _ in
                var count = 0
                for _ in 0..<5 {
                    let verdict = try await store.takeAttempt(
                        LimitKey("password", "ada"),
                        delay: { $0 == 0 ? .zero : .seconds(1) },
                        limits: [],
                        now: start
                    )
                    if case .allowed = verdict { count += 1 }
                }
                return count
            }
            #expect(tried.reduce(0, +) == 1)
        }
    }

    @Test(
        "of two concurrent claims to a name or an ID, one succeeds and the other gets a conflict",
        arguments: StoreKind.allCases
    )
    func names(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store, "first")
            let credential = Sample.credential(person.account)
            let answers = try await race(database) { store, number in
                var answers: [String] = []
                for round in 0..<rounds {
                    do {
                        try await store.createAccount(
                            Sample.account("user \(round)"),
                            audit: Sample.event(.userCreated),
                            now: start
                        )
                        answers.append("made")
                    } catch let error as StoreError where error == StoreError(.conflict(.usernameTaken)) {
                        answers.append("taken")
                    }
                }
                do {
                    _ = try await store.registerCredential(
                        credential,
                        keeping: nil,
                        audit: Sample.event(.credentialRegistered),
                        now: start
                    )
                    answers.append("registered")
                } catch let error as StoreError where error == StoreError(.conflict(.credentialExists)) {
                    answers.append("exists")
                }
                return answers
            }.joined()
            #expect(answers.count { $0 == "made" } == rounds)
            #expect(answers.count { $0 == "taken" } == 3 * rounds)
            #expect(answers.count { $0 == "registered" } == 1)
            #expect(answers.count { $0 == "exists" } == 3)
        }
    }

    @Test(
        "paging through the audit skips no record that is being written",
        arguments: StoreKind.allCases
    )
    func auditPages(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let total = 4 * 50
            let seen = try await withThrowingTaskGroup(of: [AuditRecord].self) { group in
                group.addTask {
                    var records: [AuditRecord] = []
                    while records.count < total {
                        records += try await store.auditPage(after: records.last?.position ?? 0, count: 7)
                    }
                    return records
                }
                group.addTask {
                    _ = try await race(database) { store, _ in
                        for _ in 0..<50 {
                            try await store.record([Sample.event(.rateLimitExceeded)], now: start)
                        }
                    }
                    return []
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(seen.count == total)
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.position < $1.position })
            for chain in Dictionary(grouping: seen, by: \.chain).values {
                let chain = chain.sorted { $0.sequence < $1.sequence }
                #expect(AuditChain.fault(in: chain) == nil)
                #expect(chain.first?.sequence == 1)
            }
        }
    }
}
