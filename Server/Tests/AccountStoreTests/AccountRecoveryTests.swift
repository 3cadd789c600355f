import AccountStore
import Testing

@Suite("Links, recovery codes, limited sessions")
struct AccountRecoveryTests {
    /// A sign-in by a link or a recovery code.
    private func completion(
        _ method: LoginCompletion.Method,
        _ account: Account,
        tokens: TokenPair = Sample.tokens(),
        proof: ProofIdentifier? = nil,
        at now: Timestamp = start
    ) -> LoginCompletion {
        LoginCompletion(
            method: method,
            session: Sample.limitedSession(account, at: now),
            tokens: tokens,
            proof: proof,
            audit: Sample.event(.linkRedeemed),
            now: now
        )
    }

    @Test("a link opens one limited session, once", arguments: StoreKind.allCases)
    func once(_ kind: StoreKind) async throws {
        try await withStore(kind) { store, database in
            let person = try await Person(store)
            let link = Sample.link(person.account, .enrolment)
            #expect(try await store.issue(link, audit: Sample.event(.linkIssued), now: start) == .issued)
            // Another server process on the database, as after a restart.
            let tokens = Sample.tokens()
            let outcome = try await database.use { other in
                #expect(try await other.links(of: person.account.id, now: start) == [link])
                #expect(try await other.link(link.digest, now: start) == link)
                return try await other.completeLogin(
                    completion(.link(link), person.account, tokens: tokens)
                )
            }
            let session = try #require(outcome.session)
            #expect(session.task == .setUp)
            let live = try #require(try await store.liveSession(tokens.access, .access, now: start))
            #expect(live.session == session)
            #expect(try await store.links(of: person.account.id, now: start) == [])
            #expect(try await store.link(link.digest, now: start) == nil)
            let again = try await store.completeLogin(completion(.link(link), person.account))
            #expect(again == .refused(.noLink))
            // What signed in before is unchanged.
            #expect(try await store.credentials(of: person.account.id).count == 1)
            #expect(try await store.account(person.account.id)?.password == person.account.password)
            #expect(
                try await person.audit() == [
                    "user_created", "credential_registered", "link_issued", "link_redeemed",
                    "authn_login_fail no_link",
                ]
            )
        }
    }

    @Test(
        "a link that expired, was replaced or revoked, or is another account's opens nothing",
        arguments: StoreKind.allCases
    )
    func refused(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let other = try await Person(store, "berta")
            func issue(_ link: AccountLink) async throws {
                let issue = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
                #expect(issue == .issued)
            }
            func use(
                _ link: AccountLink,
                by account: Account,
                at now: Timestamp = start
            ) async throws -> LoginOutcome {
                try await store.completeLogin(completion(.link(link), account, at: now))
            }
            let expired = Sample.link(person.account, .enrolment)
            try await issue(expired)
            let end = expired.expiresAt
            #expect(try await store.link(expired.digest, now: end) == nil)
            #expect(try await store.links(of: person.account.id, now: end) == [])
            #expect(try await use(expired, by: person.account, at: end) == .refused(.noLink))

            // One of the other kind stays.
            let (first, second) = (
                Sample.link(person.account, .enrolment), Sample.link(person.account, .enrolment)
            )
            let recovery = Sample.link(person.account, .recovery)
            for link in [first, recovery, second] { try await issue(link) }
            #expect(try await use(first, by: person.account) == .refused(.noLink))
            #expect(
                Set(try await store.links(of: person.account.id, now: start).map(\.digest)) == [
                    recovery.digest, second.digest,
                ]
            )
            // Another account's: it does not even use it up.
            #expect(try await use(second, by: other.account) == .refused(.noLink))
            await #expect(throws: StoreError(.notFound)) {
                try await store.revokeLink(
                    second.digest,
                    of: other.account.id,
                    audit: Sample.event(.linkRevoked),
                    now: start
                )
            }
            try await store.revokeLink(
                second.digest,
                of: person.account.id,
                audit: Sample.event(.linkRevoked),
                now: start
            )
            await #expect(throws: StoreError(.notFound)) {
                try await store.revokeLink(
                    second.digest,
                    of: person.account.id,
                    audit: Sample.event(.linkRevoked),
                    now: start
                )
            }
            #expect(try await use(second, by: person.account) == .refused(.noLink))
            #expect(try await use(recovery, by: person.account).session != nil)
            _ = try await person.audit()
        }
    }

    @Test(
        "the links of an account that is locked or deleted end, also after it is unlocked",
        arguments: StoreKind.allCases
    )
    func locked(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let link = Sample.link(person.account, .recovery)
            _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
            try await store.replaceRecoveryCodes(
                by: [[1], [2]],
                of: person.account.id,
                audit: Sample.event(.recoveryCodesCreated),
                now: start
            )
            func lock(_ locked: Bool) async throws {
                try await store.setLocked(
                    locked,
                    account: person.account.id,
                    audit: Sample.event(.loginLock),
                    now: start
                )
            }
            try await lock(true)
            #expect(
                try await store.completeLogin(completion(.link(link), person.account))
                    == .refused(.accountLocked)
            )
            #expect(
                try await store.issue(link, audit: Sample.event(.linkIssued), now: start) == .accountLocked
            )
            // A code is not used up by the refusal.
            #expect(
                try await store.completeLogin(completion(.recoveryCode([1], .keep), person.account))
                    == .refused(.accountLocked)
            )
            try await lock(false)
            #expect(
                try await store.completeLogin(completion(.link(link), person.account)) == .refused(.noLink)
            )
            #expect(try await store.recoveryCodes(of: person.account.id).left == 2)

            _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
            try await store.deleteAccount(
                person.account.id,
                audit: Sample.event(.userDeleted),
                now: start
            )
            #expect(try await store.link(link.digest, now: start) == nil)
            #expect(try await store.recoveryCodes(of: person.account.id).left == 0)
            for method in [LoginCompletion.Method.link(link), .recoveryCode([1], .keep)] {
                #expect(
                    try await store.completeLogin(completion(method, person.account)) == .refused(.noAccount)
                )
            }
            await #expect(throws: StoreError(.notFound)) {
                _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
            }
            await #expect(throws: StoreError(.notFound)) {
                try await store.replaceRecoveryCodes(
                    by: [[3]],
                    of: person.account.id,
                    audit: Sample.event(.recoveryCodesCreated),
                    now: start
                )
            }
        }
    }

    @Test(
        "a recovery keeps all that signed in, or ends all of it with its sessions, by a link and by a code",
        arguments: StoreKind.allCases,
        FormerCredentials.allCases
    )
    func recovery(_ kind: StoreKind, _ choice: FormerCredentials) async throws {
        try await withStore(kind) { store in
            for byLink in [true, false] {
                let person = try await Person(store, "ada-\(byLink)")
                let account = person.account.id
                let old = Sample.tokens()
                #expect(try await person.logIn(tokens: old).session != nil)
                let enrolment = Sample.link(person.account, .enrolment)
                let link = Sample.link(person.account, .recovery, choice)
                for one in [enrolment, link] {
                    _ = try await store.issue(one, audit: Sample.event(.linkIssued), now: start)
                }
                try await store.replaceRecoveryCodes(
                    by: [[1], [2]],
                    of: account,
                    audit: Sample.event(.recoveryCodesCreated),
                    now: start
                )
                let tokens = Sample.tokens()
                let outcome = try await store.completeLogin(
                    completion(
                        byLink ? .link(link) : .recoveryCode([1], choice),
                        person.account,
                        tokens: tokens
                    )
                )
                let session = try #require(outcome.session)
                #expect(try await store.liveSession(tokens.access, .access, now: start)?.session == session)
                let keeps = choice == .keep
                #expect(try await store.credentials(of: account).isEmpty == !keeps)
                #expect((try await store.account(account)?.password == nil) == !keeps)
                #expect((try await store.liveSession(old.access, .access, now: start) == nil) == !keeps)
                #expect((try await store.liveSession(old.refresh, .refresh, now: start) == nil) == !keeps)
                #expect(try await store.sessions(of: account, now: start).count == (keeps ? 2 : 1))
                #expect(try await store.recoveryCodes(of: account).left == (!keeps ? 0 : byLink ? 2 : 1))
                #expect((try await store.link(enrolment.digest, now: start) != nil) == keeps)
                let audit = try await person.audit()
                #expect(audit.contains("credential_removed recovery") == !keeps)
                // The credential that ended signs nobody in.
                let again = try await person.logIn(signCount: 0)
                #expect((again.session != nil) == keeps, "\(again)")
            }
        }
    }

    @Test("recovery codes are good once, and new ones end the old", arguments: StoreKind.allCases)
    func codes(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let other = try await Person(store, "berta")
            let account = person.account
            func make(_ digests: [[UInt8]]) async throws {
                try await store.replaceRecoveryCodes(
                    by: digests,
                    of: account.id,
                    audit: Sample.event(.recoveryCodesCreated),
                    now: start
                )
            }
            func use(_ digest: [UInt8], _ account: Account) async throws -> LoginOutcome {
                try await store.completeLogin(completion(.recoveryCode(digest, .keep), account))
            }
            #expect(
                try await store.recoveryCodes(of: account.id) == RecoveryCodes(left: 0, createdAt: nil)
            )
            #expect(try await use([1], account) == .refused(.noRecoveryCode))
            try await make([[1], [2]])
            #expect(
                try await store.recoveryCodes(of: account.id) == RecoveryCodes(left: 2, createdAt: start)
            )
            #expect(try await use([1], other.account) == .refused(.noRecoveryCode))
            #expect(try await use([1], account).session != nil)
            #expect(try await use([1], account) == .refused(.noRecoveryCode))
            #expect(try await store.recoveryCodes(of: account.id).left == 1)
            try await make([[3], [4]])
            #expect(try await use([2], account) == .refused(.noRecoveryCode))
            #expect(try await use([3], account).session != nil)
            #expect(try await store.recoveryCodes(of: account.id).left == 1)
            _ = try await person.audit()
        }
    }

    @Test(
        "a replayed proof leaves the link unused",
        arguments: StoreKind.allCases
    )
    func proof(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let link = Sample.link(person.account, .recovery, .end)
            _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
            let proof = ProofIdentifier(digest: [7], expiresAt: start + .seconds(60))
            #expect(try await store.takeProof(proof, now: start) == .fresh)
            #expect(
                try await store.completeLogin(completion(.link(link), person.account, proof: proof))
                    == .refused(.proofReplayed)
            )
            #expect(try await store.credentials(of: person.account.id).count == 1)
            #expect(try await store.completeLogin(completion(.link(link), person.account)).session != nil)
        }
    }

    @Test(
        "a limited session ends when a credential is registered or the password is set, and renews for itself alone",
        arguments: StoreKind.allCases
    )
    func limited(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let account = person.account
            let full = Sample.tokens()
            #expect(try await person.logIn(tokens: full).session != nil)
            func open() async throws -> (TokenPair, Session) {
                let link = Sample.link(account, .enrolment)
                _ = try await store.issue(link, audit: Sample.event(.linkIssued), now: start)
                let tokens = Sample.tokens()
                let outcome = try await store.completeLogin(
                    completion(.link(link), account, tokens: tokens)
                )
                return (tokens, try #require(outcome.session))
            }
            func isLive(_ tokens: TokenPair) async throws -> Bool {
                try await store.liveSession(tokens.access, .access, now: start) != nil
            }
            let (tokens, session) = try await open()
            let grant = AudienceGrant(audience: "https://api.example.org", scope: [])
            let wanted = TokenPair(
                access: Sample.digest(),
                accessExpiresAt: start + .seconds(300),
                grant: grant,
                refresh: Sample.digest()
            )
            #expect(try await person.refresh(tokens.refresh, to: wanted) == .refused(.limitedSession))
            let next = Sample.tokens()
            #expect(try await person.refresh(tokens.refresh, to: next) == .renewed(session))
            #expect(try await isLive(next))
            // Not beyond its own end.
            #expect(try await store.liveSession(next.access, .access, now: session.expiresAt) == nil)
            #expect(
                try await person.refresh(next.refresh, at: session.expiresAt) == .refused(.expired)
            )

            let (another, requesting) = try await open()
            _ = try await store.registerCredential(
                Sample.credential(account),
                keeping: requesting.id,
                audit: Sample.event(.credentialRegistered),
                now: start
            )
            #expect(try await !isLive(another))
            #expect(try await isLive(full))

            let (third, setting) = try await open()
            try await store.changePassword(
                of: account.id,
                checked: account.password?.hash,
                to: PasswordRecord(hash: "$scrypt$2", changedAt: start),
                keeping: setting.id,
                audit: Sample.event(.passwordChange),
                now: start
            )
            #expect(try await !isLive(third))
            #expect(try await !isLive(full))
        }
    }

    @Test(
        "that a password must be changed is stored with it, and ends with the next one",
        arguments: StoreKind.allCases
    )
    func mustChange(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let account = Sample.account()
            try await store.createAccount(account, audit: Sample.event(.userCreated), now: start)
            #expect(try await store.account(account.id)?.password?.mustChange == false)
            func change(from old: String, to new: PasswordRecord) async throws {
                try await store.changePassword(
                    of: account.id,
                    checked: old,
                    to: new,
                    keeping: nil,
                    audit: Sample.event(.passwordChange),
                    now: start
                )
            }
            let chosen = PasswordRecord(hash: "$scrypt$2", changedAt: start, mustChange: true)
            try await change(from: "$scrypt$1", to: chosen)
            #expect(try await store.account(account.id)?.password == chosen)
            // Hashing it again at a sign-in changes nothing of that.
            let login = LoginCompletion(
                method: .password(checked: "$scrypt$2", rehashed: "$scrypt$3"),
                session: Sample.limitedSession(account, task: .changePassword),
                tokens: Sample.tokens(),
                audit: Sample.event(),
                now: start
            )
            #expect(try await store.completeLogin(login).session?.task == .changePassword)
            #expect(try await store.account(account.id)?.password?.mustChange == true)
            try await change(from: "$scrypt$3", to: PasswordRecord(hash: "$scrypt$4", changedAt: start))
            #expect(try await store.account(account.id)?.password?.mustChange == false)
        }
    }

    @Test("purging removes links that have expired, and no other", arguments: StoreKind.allCases)
    func purge(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let link = Sample.link(person.account, .enrolment)
            let later = AccountLink(
                digest: Sample.digest(),
                account: person.account.id,
                kind: .recovery,
                credentials: .keep,
                createdAt: start,
                expiresAt: link.expiresAt + .seconds(1)
            )
            for one in [link, later] {
                _ = try await store.issue(one, audit: Sample.event(.linkIssued), now: start)
            }
            var (cursor, removed): (PurgeCursor?, Int) = (nil, 0)
            repeat {
                let part = try await store.purge(from: cursor, PurgeSettings(), now: link.expiresAt)
                removed += part.removed
                cursor = part.next
            } while cursor != nil
            #expect(removed == 1)
            #expect(try await store.links(of: person.account.id, now: start) == [later])
        }
    }
}
