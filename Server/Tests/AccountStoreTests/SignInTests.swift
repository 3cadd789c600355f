import AccountStore
import Testing

@Suite("Login and sessions")
struct SignInTests {
    @Test(
        "a ceremony is consumed once, before it expires, and comes with its credential",
        arguments: StoreKind.allCases
    )
    func ceremonies(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let ceremony = Sample.ceremony(person.account)
            #expect(try await store.openCeremony(ceremony, limits: [], now: start) == .allowed)
            await #expect(throws: StoreError(.conflict(.identifierTaken))) {
                try await store.openCeremony(ceremony, limits: [], now: start)
            }
            let taken = try await store.consumeCeremony(
                ceremony.id,
                presenting: person.credential.id,
                now: start
            )
            #expect(
                taken
                    == ConsumedCeremony(
                        ceremony: ceremony,
                        credential: person.credential,
                        account: person.account
                    )
            )
            #expect(try await store.consumeCeremony(ceremony.id, presenting: nil, now: start) == nil)

            let late = Sample.ceremony()
            _ = try await store.openCeremony(late, limits: [], now: start)
            #expect(try await store.consumeCeremony(late.id, presenting: nil, now: late.expiresAt) == nil)
            #expect(try await store.consumeCeremony(late.id, presenting: nil, now: start) == nil)

            let other = Sample.ceremony()
            _ = try await store.openCeremony(other, limits: [], now: start)
            let unknown = try await store.consumeCeremony(other.id, presenting: CredentialID([1]), now: start)
            #expect(unknown == ConsumedCeremony(ceremony: other, credential: nil, account: nil))
        }
    }

    @Test(
        "an account looked up by name for a login comes with its credentials",
        arguments: StoreKind.allCases
    )
    func loginAccount(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let found = try await store.loginAccount(username: "ada")
            #expect(
                found == AccountWithCredentials(account: person.account, credentials: [person.credential])
            )
            #expect(try await store.loginAccount(username: "Ada") == nil)
        }
    }

    @Test(
        "a login updates the counter and the flags, opens a session and writes an audit record",
        arguments: StoreKind.allCases
    )
    func login(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, signCount: 4)
            let tokens = Sample.tokens()
            let session = try #require(try await person.logIn(signCount: 5, tokens: tokens).session)
            let stored = try #require(try await store.credential(person.credential.id, of: person.account.id))
            #expect(stored.signCount == 5 && stored.uvInitialized && stored.lastUsedAt == start)
            let live = try #require(try await store.liveSession(tokens.access, .access, now: start))
            #expect(live.session == session && live.account == person.account)
            #expect(live.tokenExpiresAt == start + .seconds(300))
            #expect(try await store.liveSession(tokens.access, .refresh, now: start) == nil)
            #expect(try await store.liveSession(tokens.refresh, .refresh, now: start)?.session == session)
            #expect(try await store.liveSession(tokens.access, .access, now: start + .seconds(300)) == nil)
            #expect(try await store.sessions(of: person.account.id, now: start) == [session])
            #expect(
                try await person.audit() == ["user_created", "credential_registered", "authn_login_success"]
            )
        }
    }

    @Test(
        "a counter that did not increase is refused, and suspends only what must be a copy",
        arguments: StoreKind.allCases,
        [
            (backedUp: false, used: false), (backedUp: false, used: true),
            (backedUp: true, used: false), (backedUp: true, used: true),
        ]
    )
    func refusedCounters(_ kind: StoreKind, _ state: (backedUp: Bool, used: Bool)) async throws {
        try await withStore(kind) { store in
            for shown: UInt32 in [0, 3, 7] {
                let person = try await Person(store, "ada-\(shown)", signCount: 1)
                let (id, account) = (person.credential.id, person.account.id)
                let used = start + .seconds(10)
                #expect(try await person.logIn(signCount: 7, at: used).session != nil)
                let login = LoginCompletion(
                    method: .credential(
                        Sample.use(
                            person.credential,
                            signCount: shown,
                            backupEligible: state.backedUp,
                            openedAt: state.used ? start + .seconds(5) : used
                        )
                    ),
                    session: Sample.session(person.account, credential: person.credential, at: used),
                    tokens: Sample.tokens(),
                    audit: Sample.event(),
                    now: used
                )
                let isCopy = !state.backedUp && !state.used
                #expect(
                    try await store.completeLogin(login)
                        == .refused(isCopy ? .clonedCounter : .counterNotGrown)
                )
                let stored = try await store.credential(id, of: account)
                #expect(stored?.suspension == (isCopy ? .clonedCounter : nil) && stored?.signCount == 7)
                // Its owner restores it, and the next counter is the new beginning.
                let audit = Sample.event(.credentialRestored)
                try await store.restoreOwnCredential(id, of: account, audit: audit, now: used)
                #expect(try await person.logIn(signCount: shown, at: used).session != nil)
                #expect(try await store.credential(id, of: account)?.signCount == shown)
                try await store.setSuspension(
                    .administrator,
                    ofCredential: id,
                    of: account,
                    audit: Sample.event(.credentialSuspended),
                    now: used
                )
                await #expect(throws: StoreError(.conflict(.suspendedForOtherReason))) {
                    try await store.restoreOwnCredential(id, of: account, audit: audit, now: used)
                }
                await #expect(throws: StoreError(.notFound)) {
                    try await store.restoreOwnCredential(.random(), of: account, audit: audit, now: used)
                }
                #expect(try await person.audit().contains("credential_restored"))
            }
        }
    }

    @Test(
        "a counter that did not increase suspends the credential and ends its sessions",
        arguments: StoreKind.allCases,
        [(5, 5), (5, 4), (5, 0)]
    )
    func clones(_ kind: StoreKind, _ counts: (stored: UInt32, shown: UInt32)) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, signCount: counts.stored - 1)
            let tokens = Sample.tokens()
            #expect(try await person.logIn(signCount: counts.stored, tokens: tokens).session != nil)
            #expect(try await person.logIn(signCount: counts.shown) == .refused(.clonedCounter))
            let stored = try await store.credential(person.credential.id, of: person.account.id)
            #expect(stored?.suspension == .clonedCounter && stored?.signCount == counts.stored)
            #expect(try await store.liveSession(tokens.access, .access, now: start) == nil)
            #expect(try await person.logIn(signCount: 99) == .refused(.credentialSuspended))
            #expect(
                try await person.audit().suffix(3) == [
                    "authn_login_fail cloned_counter", "credential_suspended cloned_counter",
                    "authn_login_fail credential_suspended",
                ]
            )
        }
    }

    @Test("a counter that is always zero is accepted", arguments: StoreKind.allCases)
    func zeroCounter(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            for _ in 0..<3 { #expect(try await person.logIn().session != nil) }
        }
    }

    @Test("the eleventh session ends the oldest, expired ones first", arguments: StoreKind.allCases)
    func oldestSession(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            var ids: [SessionID] = []
            for number in 0..<10 {
                let outcome = try await person.logIn(at: start + .seconds(number))
                ids.append(try #require(outcome.session).id)
            }
            guard case .completed(_, let ended) = try await person.logIn(at: start + .seconds(20)) else {
                Issue.record("refused")
                return
            }
            #expect(ended == [ids[0]])
            #expect(try await store.sessions(of: person.account.id, now: start).count == 10)
            #expect(try await person.audit().last == "excess_sessions_exceeded")
            // After an idle hour none of them is left.
            let later = start + .seconds(3621)
            guard case .completed(let session, let none) = try await person.logIn(at: later) else {
                Issue.record("refused")
                return
            }
            #expect(none == [])
            #expect(try await store.sessions(of: person.account.id, now: later) == [session])
        }
    }

    @Test(
        "a login is refused if the password, lock, credential or account changed since the checks",
        arguments: StoreKind.allCases
    )
    func changedMeanwhile(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let id = person.account.id
            func byPassword(_ checked: String, rehashed: String? = nil) async throws -> LoginOutcome {
                try await store.completeLogin(
                    LoginCompletion(
                        method: .password(checked: checked, rehashed: rehashed),
                        session: Sample.session(person.account),
                        tokens: Sample.tokens(),
                        audit: Sample.event(),
                        now: start
                    )
                )
            }
            #expect(try await byPassword("$scrypt$1", rehashed: "$scrypt$2").session != nil)
            #expect(try await byPassword("$scrypt$1") == .refused(.passwordChanged))
            #expect(try await byPassword("$scrypt$2").session != nil)
            try await store.setLocked(true, account: id, audit: Sample.event(.loginLock), now: start)
            #expect(try await byPassword("$scrypt$2") == .refused(.accountLocked))
            #expect(try await person.logIn() == .refused(.accountLocked))
            #expect(try await store.sessions(of: id, now: start) == [])
            try await store.setLocked(false, account: id, audit: Sample.event(.loginLock), now: start)
            try await store.removeCredential(
                person.credential.id,
                of: id,
                keeping: nil,
                audit: Sample.event(.credentialRemoved),
                now: start
            )
            #expect(try await person.logIn() == .refused(.noCredential))
            try await store.deleteAccount(id, audit: Sample.event(.userDeleted), now: start)
            #expect(try await person.logIn() == .refused(.noAccount))
            #expect(try await person.audit().last == "user_deleted")
        }
    }

    @Test("a proof is accepted once, across all operations", arguments: StoreKind.allCases)
    func proofs(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let proof = ProofIdentifier(
                digest: [UInt8](repeating: 1, count: 32),
                expiresAt: start + .seconds(60)
            )
            let tokens = Sample.tokens()
            let key = [UInt8](repeating: 5, count: 32)
            #expect(try await person.logIn(tokens: tokens, thumbprint: key, proof: proof).session != nil)
            #expect(try await person.logIn(proof: proof) == .refused(.proofReplayed))
            let again = try await person.refresh(tokens.refresh, thumbprint: key, proof: proof)
            #expect(again == .refused(.proofReplayed))
            #expect(try await store.takeProof(proof, now: start) == .replayed)
            let other = ProofIdentifier(digest: [2], expiresAt: start + .seconds(60))
            #expect(try await store.takeProof(other, now: start) == .fresh)
        }
    }

    @Test("a renewal replaces the session's tokens", arguments: StoreKind.allCases)
    func renewal(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let old = Sample.tokens()
            var session = try #require(try await person.logIn(tokens: old).session)
            let new = Sample.tokens()
            session.authTime = start + .seconds(50)
            session.acr = "phr"
            func renew(_ now: Timestamp) async throws -> LoginOutcome {
                try await store.completeLogin(
                    LoginCompletion(
                        method: .credential(Sample.use(person.credential, signCount: 0)),
                        target: .renewal(of: ["phr", "phrh"]),
                        session: session,
                        tokens: new,
                        audit: Sample.event(.sessionRenewed),
                        now: now
                    )
                )
            }
            session.lastUsedAt = start + .seconds(50)
            // A weaker authentication than the session's leaves it as it is.
            let weaker = try await store.completeLogin(
                LoginCompletion(
                    method: .password(checked: "$scrypt$1", rehashed: nil),
                    target: .renewal(of: ["pwd"]),
                    session: session,
                    tokens: new,
                    audit: Sample.event(.sessionRenewed),
                    now: start
                )
            )
            #expect(weaker == .refused(.weakerMethod))
            #expect(try await store.liveSession(old.access, .access, now: start)?.session.acr == "phrh")
            #expect(try await renew(start + .seconds(50)) == .completed(session, ended: []))
            #expect(try await store.liveSession(old.access, .access, now: start) == nil)
            #expect(try await person.refresh(old.refresh) == .refused(.unknownToken))
            #expect(try await store.liveSession(new.access, .access, now: start)?.session == session)
            _ = try await store.endSessions(
                of: person.account.id,
                except: nil,
                audit: Sample.event(.sessionLogout),
                now: start
            )
            #expect(try await renew(start) == .refused(.noSession))
        }
    }
}
