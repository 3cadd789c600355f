import AccountStore
import Testing

@Suite("Refreshing tokens")
struct RefreshTests {
    @Test("a bound refresh token is replaced at each use, for its key only", arguments: StoreKind.allCases)
    func bound(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let key = [UInt8](repeating: 5, count: 32)
            var tokens = Sample.tokens()
            var session = try #require(try await person.logIn(tokens: tokens, thumbprint: key).session)
            #expect(try await person.refresh(tokens.refresh) == .refused(.otherKey))
            #expect(try await person.refresh(tokens.refresh, thumbprint: [1]) == .refused(.otherKey))
            for minute in 1...3 {
                let new = Sample.tokens(at: start + .seconds(60 * minute))
                session.lastUsedAt = start + .seconds(60 * minute)
                let outcome = try await person.refresh(
                    tokens.refresh,
                    to: new,
                    thumbprint: key,
                    at: session.lastUsedAt
                )
                #expect(outcome == .renewed(session))
                #expect(try await store.liveSession(new.access, .access, now: session.lastUsedAt) != nil)
                #expect(try await store.liveSession(new.refresh, .refresh, now: session.lastUsedAt) != nil)
                #expect(try await store.liveSession(tokens.refresh, .refresh, now: session.lastUsedAt) == nil)
                tokens = new
            }
        }
    }

    @Test(
        "after a lost response a bound token works within a day, for its key; once its successor was used it ends the session",
        arguments: StoreKind.allCases
    )
    func boundGrace(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let key = [UInt8](repeating: 5, count: 32)
            func use(
                _ token: TokenDigest,
                to tokens: TokenPair = Sample.tokens(),
                after time: Duration = .zero
            ) async throws -> RefreshOutcome {
                try await person.refresh(token, to: tokens, thumbprint: key, at: start + time)
            }
            let (first, lost, second) = (Sample.tokens(), Sample.tokens(), Sample.tokens())
            var session = try #require(
                try await person.logIn(tokens: first, thumbprint: key, idle: .seconds(172_800)).session
            )
            #expect(try await use(first.refresh, to: lost) == .renewed(session))
            // Whoever has it without the key neither gets in nor ends anything.
            #expect(try await person.refresh(first.refresh, thumbprint: [1]) == .refused(.otherKey))
            session.lastUsedAt = start + .seconds(86_399)
            #expect(try await use(first.refresh, to: second, after: .seconds(86_399)) == .renewed(session))
            session.lastUsedAt = start + .seconds(86_400)
            #expect(try await use(second.refresh, after: .seconds(86_400)) == .renewed(session))
            #expect(try await use(first.refresh, after: .seconds(86_400)) == .refused(.reused))
            for token in [second, lost] {
                #expect(try await use(token.refresh) == .refused(.unknownToken))
                #expect(try await store.liveSession(token.access, .access, now: start) == nil)
            }
            #expect(try await person.audit().last == "authn_token_reuse reused")

            let late = Sample.tokens()
            _ = try await person.logIn(tokens: late, thumbprint: key, idle: .seconds(172_800))
            _ = try await use(late.refresh)
            #expect(try await use(late.refresh, after: .milliseconds(86_400_001)) == .refused(.reused))
        }
    }

    @Test(
        "an unbound refresh token is replaced; using it after its successor ends the session",
        arguments: StoreKind.allCases
    )
    func rotation(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let first = Sample.tokens()
            _ = try await person.logIn(tokens: first)
            let second = Sample.tokens()
            let third = Sample.tokens()
            guard case .renewed = try await person.refresh(first.refresh, to: second) else {
                Issue.record("not rotated")
                return
            }
            #expect(try await store.liveSession(first.refresh, .refresh, now: start) == nil)
            // The response was lost: the same token again, within the grace period.
            guard
                case .renewed = try await person.refresh(
                    first.refresh,
                    to: third,
                    at: start + .seconds(30)
                )
            else {
                Issue.record("no grace")
                return
            }
            // Both successors are valid, because either response may have arrived.
            #expect(try await store.liveSession(second.refresh, .refresh, now: start) != nil)
            #expect(try await store.liveSession(third.refresh, .refresh, now: start) != nil)
            // Once a successor was used, whoever shows the first token is not the client that got the successor.
            guard case .renewed = try await person.refresh(third.refresh, at: start + .seconds(31))
            else {
                Issue.record("the successor is not good")
                return
            }
            #expect(try await person.refresh(first.refresh, at: start + .seconds(29)) == .refused(.reused))
            for token in [second, third] {
                #expect(try await store.liveSession(token.refresh, .refresh, now: start) == nil)
                #expect(try await store.liveSession(token.access, .access, now: start) == nil)
                #expect(try await person.refresh(token.refresh) == .refused(.unknownToken))
            }
            #expect(try await person.audit().last == "authn_token_reuse reused")
        }
    }

    @Test("the grace period of a replaced token is thirty seconds", arguments: StoreKind.allCases)
    func grace(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let first = Sample.tokens()
            _ = try await person.logIn(tokens: first)
            _ = try await person.refresh(first.refresh)
            let late = start + .milliseconds(30_001)
            #expect(try await person.refresh(first.refresh, at: late) == .refused(.reused))
        }
    }

    @Test("idle, ended, locked and unknown tokens are refused", arguments: StoreKind.allCases)
    func ends(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            #expect(try await person.refresh(Sample.digest()) == .refused(.unknownToken))
            let idle = Sample.tokens()
            _ = try await person.logIn(tokens: idle)
            #expect(try await person.refresh(idle.refresh, at: start + .seconds(3600)) == .refused(.expired))
            #expect(try await person.refresh(idle.refresh, at: start) == .refused(.unknownToken))
            let tokens = Sample.tokens()
            _ = try await person.logIn(tokens: tokens)
            try await store.setLocked(
                true,
                account: person.account.id,
                audit: Sample.event(.loginLock),
                now: start
            )
            #expect(try await person.refresh(tokens.refresh) == .refused(.unknownToken))
        }
    }

    @Test(
        "revoking a refresh token ends its session; revoking an access token ends only that token",
        arguments: StoreKind.allCases
    )
    func revocation(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let tokens = Sample.tokens()
            let session = try #require(try await person.logIn(tokens: tokens).session)
            let audit = Sample.event(.tokenRevoked)
            #expect(try await store.revoke(tokens.access, .access, audit: audit, now: start) == session.id)
            #expect(try await store.liveSession(tokens.access, .access, now: start) == nil)
            #expect(try await store.liveSession(tokens.refresh, .refresh, now: start) != nil)
            #expect(try await store.revoke(tokens.refresh, .refresh, audit: audit, now: start) == session.id)
            #expect(try await store.revoke(tokens.refresh, .refresh, audit: audit, now: start) == nil)
            #expect(try await person.refresh(tokens.refresh) == .refused(.unknownToken))
            #expect(try await person.audit().suffix(2) == ["authn_token_revoked", "authn_token_revoked"])
        }
    }

    @Test("sessions are ended one by one, or all but one", arguments: StoreKind.allCases)
    func ending(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let stranger = try await Person(store, "eve")
            var sessions: [Session] = []
            for number in 0..<4 {
                sessions.append(try #require(try await person.logIn(at: start + .seconds(number)).session))
            }
            let audit = Sample.event(.sessionLogout)
            let id = person.account.id
            await #expect(throws: StoreError(.notFound)) {
                try await store.endSession(sessions[0].id, of: stranger.account.id, audit: audit, now: start)
            }
            try await store.endSession(sessions[0].id, of: id, audit: audit, now: start)
            #expect(try await store.sessions(of: id, now: start) == sessions[1...].reversed())
            #expect(
                try await store.endSessions(of: id, except: sessions[2].id, audit: audit, now: start) == 2
            )
            #expect(try await store.sessions(of: id, now: start) == [sessions[2]])
        }
    }
}
