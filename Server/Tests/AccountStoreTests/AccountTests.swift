import AccountStore
import Testing

@Suite("Accounts, credentials, transactions")
struct AccountTests {
    @Test("no two credentials of an account have one label", arguments: StoreKind.allCases)
    func labels(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let audit = Sample.event(.credentialRegistered)
            let ada = Sample.account("ada")
            try await store.createAccount(ada, audit: audit, now: start)
            var ids: [CredentialID] = []
            for _ in 1...4 {
                var credential = Sample.credential(ada)
                credential.label = "Phone"
                let registered = try await store.registerCredential(
                    credential,
                    keeping: nil,
                    audit: audit,
                    now: start
                )
                // What it returns is what it stored.
                #expect(try await store.credential(credential.id, of: ada.id) == registered.credential)
                #expect(registered.superseded.isEmpty)
                ids.append(credential.id)
            }
            func labels() async throws -> [String?] {
                var labels: [String?] = []
                for id in ids { labels.append(try await store.credential(id, of: ada.id)?.label) }
                return labels
            }
            #expect(try await labels() == ["Phone", "Phone 2", "Phone 3", "Phone 4"])
            try await store.removeCredential(ids[1], of: ada.id, keeping: nil, audit: audit, now: start)
            for (id, label) in [(ids[3], "Phone"), (ids[2], "Phone 3")] {
                try await store.renameCredential(id, of: ada.id, label: label, audit: audit, now: start)
            }
            #expect(try await labels() == ["Phone", nil, "Phone 3", "Phone 2"])
        }
    }

    @Test("accounts are created, found, listed, renamed, locked and deleted", arguments: StoreKind.allCases)
    func accounts(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let audit = Sample.event(.administration)
            var ada = Sample.account("ada")
            let zoe = Sample.account("Zoë", password: nil)
            for account in [ada, zoe] { try await store.createAccount(account, audit: audit, now: start) }
            await #expect(throws: StoreError(.conflict(.usernameTaken))) {
                try await store.createAccount(Sample.account("ada"), audit: audit, now: start)
            }
            await #expect(throws: StoreError(.conflict(.accountExists))) {
                let same = Account(id: ada.id, username: "other", displayName: "", createdAt: start)
                try await store.createAccount(same, audit: audit, now: start)
            }
            #expect(try await store.account(ada.id) == ada)
            #expect(try await store.account(username: "Zoë") == zoe)
            #expect(try await store.account(.random()) == nil)
            // Sorted by bytes, in both databases.
            #expect(try await store.accounts(after: "", count: 10) == [zoe, ada])
            #expect(try await store.accounts(after: "", count: 1) == [zoe])
            #expect(try await store.accounts(after: "Zoë", count: 10) == [ada])

            await #expect(throws: StoreError(.conflict(.usernameTaken))) {
                try await store.renameAccount(
                    ada.id,
                    username: "Zoë",
                    displayName: "",
                    audit: audit,
                    now: start
                )
            }
            try await store.renameAccount(
                ada.id,
                username: "ada",
                displayName: "Ada",
                audit: audit,
                now: start
            )
            ada.displayName = "Ada"
            try await store.setLocked(true, account: ada.id, audit: audit, now: start)
            ada.lockedAt = start
            #expect(try await store.account(ada.id) == ada)
            try await store.deleteAccount(ada.id, audit: audit, now: start)
            #expect(try await store.account(username: "ada") == nil)
            await #expect(throws: StoreError(.notFound)) {
                try await store.deleteAccount(ada.id, audit: audit, now: start)
            }
            await #expect(throws: StoreError(.notFound)) {
                try await store.setLocked(false, account: ada.id, audit: audit, now: start)
            }
            // Its audit records remain.
            #expect(try await store.auditPage(of: ada.id, after: 0, count: 10).count == 4)
        }
    }

    @Test("deleting an account deletes its credentials and sessions", arguments: StoreKind.allCases)
    func deletion(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let tokens = Sample.tokens()
            _ = try await person.logIn(tokens: tokens)
            let ceremony = Sample.ceremony()
            _ = try await store.openCeremony(ceremony, limits: [], now: start)
            try await store.deleteAccount(person.account.id, audit: Sample.event(.userDeleted), now: start)
            #expect(try await store.credentials(of: person.account.id) == [])
            #expect(try await store.liveSession(tokens.access, .access, now: start) == nil)
            #expect(try await person.refresh(tokens.refresh) == .refused(.unknownToken))
            let taken = try await store.consumeCeremony(
                ceremony.id,
                presenting: person.credential.id,
                now: start
            )
            #expect(taken?.credential == nil)
        }
    }

    @Test(
        "credentials are registered once, renamed, suspended, restored and removed",
        arguments: StoreKind.allCases
    )
    func credentials(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let stranger = try await Person(store, "eve")
            let id = person.credential.id
            let account = person.account.id
            let audit = Sample.event(.credentialRegistered)
            await #expect(throws: StoreError(.conflict(.credentialExists))) {
                try await store.registerCredential(person.credential, keeping: nil, audit: audit, now: start)
            }
            await #expect(throws: StoreError(.notFound)) {
                let nobody = Sample.credential(Sample.account("nobody"))
                return try await store.registerCredential(nobody, keeping: nil, audit: audit, now: start)
            }
            await #expect(throws: StoreError(.notFound)) {
                try await store.renameCredential(
                    id,
                    of: stranger.account.id,
                    label: "x",
                    audit: audit,
                    now: start
                )
            }
            try await store.renameCredential(id, of: account, label: "the laptop 💻", audit: audit, now: start)
            #expect(try await store.credential(id, of: account)?.label == "the laptop 💻")
            #expect(try await store.credential(id, of: stranger.account.id) == nil)

            let tokens = Sample.tokens()
            _ = try await person.logIn(tokens: tokens)
            let suspend = Sample.event(.credentialSuspended)
            try await store.setSuspension(
                .administrator,
                ofCredential: id,
                of: account,
                audit: suspend,
                now: start
            )
            #expect(try await store.liveSession(tokens.access, .access, now: start) == nil)
            #expect(try await person.logIn() == .refused(.credentialSuspended))
            try await store.setSuspension(nil, ofCredential: id, of: account, audit: suspend, now: start)
            let kept = try #require(try await person.logIn().session)
            let other = try #require(try await person.logIn().session)
            try await store.removeCredential(id, of: account, keeping: kept.id, audit: suspend, now: start)
            #expect(try await store.sessions(of: account, now: start).map(\.id) == [kept.id])
            #expect(other.id != kept.id)
            await #expect(throws: StoreError(.notFound)) {
                try await store.removeCredential(id, of: account, keeping: nil, audit: suspend, now: start)
            }
        }
    }

    @Test(
        "a new credential of the same TPM or key supersedes the old one, within the account only",
        arguments: StoreKind.allCases,
        [true, false]
    )
    func superseded(_ kind: StoreKind, _ byAnchor: Bool) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let stranger = try await Person(store, "eve")
            let mark = [UInt8](repeating: 4, count: 32)
            func make(_ person: Person) -> Credential {
                Sample.credential(
                    person.account,
                    anchor: byAnchor ? mark : nil,
                    thumbprint: byAnchor ? nil : mark
                )
            }
            func register(_ credential: Credential) async throws -> [CredentialID] {
                try await store.registerCredential(
                    credential,
                    keeping: nil,
                    audit: Sample.event(.credentialRegistered),
                    now: start
                ).superseded
            }
            let first = make(person)
            let foreign = make(stranger)
            #expect(try await register(first) == [])
            #expect(try await register(foreign) == [])
            #expect(try await register(make(person)) == [first.id])
            #expect(try await store.credential(first.id, of: person.account.id)?.suspension == .superseded)
            #expect(try await store.credential(foreign.id, of: stranger.account.id)?.suspension == nil)
            #expect(
                try await store.credential(person.credential.id, of: person.account.id)?.suspension == nil
            )
            #expect(try await person.audit().last == "credential_suspended superseded")
            // A device that is set up again keeps its label; one that another device has gets a number.
            for (asked, given) in [
                (first.label, first.label), (first.label, first.label),
                (person.credential.label, person.credential.label + " 2"),
            ] {
                var again = make(person)
                again.label = asked
                _ = try await register(again)
                #expect(try await store.credential(again.id, of: person.account.id)?.label == given)
            }
        }
    }

    @Test("the number of credentials per account is limited", arguments: StoreKind.allCases)
    func tooMany(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            func register() async throws {
                _ = try await store.registerCredential(
                    Sample.credential(person.account),
                    keeping: nil,
                    audit: Sample.event(.credentialRegistered),
                    now: start
                )
            }
            for _ in 1..<Limits.credentials { try await register() }
            await #expect(throws: StoreError(.conflict(.tooManyCredentials))) { try await register() }
        }
    }

    @Test(
        "a password change requires the old password's hash to be current, and ends the other sessions",
        arguments: StoreKind.allCases
    )
    func password(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            let kept = try #require(try await person.logIn().session)
            _ = try await person.logIn()
            let new = PasswordRecord(hash: "$scrypt$new", changedAt: start + .seconds(1))
            func change(_ checked: String?) async throws {
                try await store.changePassword(
                    of: person.account.id,
                    checked: checked,
                    to: new,
                    keeping: kept.id,
                    audit: Sample.event(.passwordChange),
                    now: start
                )
            }
            await #expect(throws: StoreError(.conflict(.passwordChanged))) {
                try await change("$scrypt$other")
            }
            #expect(try await store.sessions(of: person.account.id, now: start).count == 2)
            try await change("$scrypt$1")
            await #expect(throws: StoreError(.conflict(.passwordChanged))) { try await change("$scrypt$1") }
            #expect(try await store.account(person.account.id)?.password == new)
            #expect(try await store.sessions(of: person.account.id, now: start).map(\.id) == [kept.id])
        }
    }

    @Test("a transaction is decided once, in time, by its owner", arguments: StoreKind.allCases)
    func transactions(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store, signCount: 1)
            let stranger = try await Person(store, "eve")
            let audit = Sample.event(.transactionApproved)
            func decide(
                _ transaction: Transaction,
                _ decision: TransactionDecision,
                by account: Account? = nil,
                at now: Timestamp = start
            ) async throws -> TransactionOutcome {
                try await store.decideTransaction(
                    transaction.id,
                    of: account?.id ?? person.account.id,
                    presenting: person.credential.id,
                    audit: audit,
                    now: now
                ) { pending, credential in
                    pending.id == transaction.id && credential?.id == person.credential.id
                        ? decision : .failed(reason: "other_objects", details: "")
                }
            }
            func make() async throws -> Transaction {
                let transaction = Sample.transaction(person.account)
                try await store.createTransaction(transaction, audit: Sample.event(.transactionCreated))
                return transaction
            }
            let approval = TransactionDecision.approved(
                Sample.evidence(person.credential),
                Sample.use(person.credential, signCount: 2)
            )
            var first = try await make()
            await #expect(throws: StoreError(.conflict(.identifierTaken))) {
                try await store.createTransaction(first, audit: audit)
            }
            #expect(try await store.transaction(first.id, now: start) == first)
            await #expect(throws: StoreError(.notFound)) {
                try await decide(first, .rejected, by: stranger.account)
            }
            let outcome = try await decide(first, approval)
            first.status = .approved
            first.decidedAt = start
            first.evidence = Sample.evidence(person.credential)
            #expect(outcome == .decided(first))
            #expect(try await store.transaction(first.id, now: start + .seconds(9999)) == first)
            #expect(try await decide(first, .rejected) == .notPending(.approved))
            #expect(try await store.credential(person.credential.id, of: person.account.id)?.signCount == 2)

            let late = try await make()
            let strangers = Sample.transaction(stranger.account)
            try await store.createTransaction(strangers, audit: Sample.event(.transactionCreated))
            #expect(try await store.pendingTransactions(of: person.account.id, now: start) == [late])
            #expect(try await store.pendingTransactions(of: person.account.id, now: late.expiresAt) == [])
            #expect(try await store.transaction(late.id, now: late.expiresAt)?.status == .expired)
            #expect(try await decide(late, .rejected, at: late.expiresAt) == .notPending(.expired))
            let rejected = try await make()
            _ = try await decide(rejected, .rejected)
            #expect(try await store.transaction(rejected.id, now: start)?.status == .rejected)
            let failed = try await make()
            _ = try await decide(failed, .failed(reason: "invalid_signature", details: ""))
            #expect(try await decide(failed, approval) == .notPending(.failed))

            let cloned = try await make()
            #expect(try await decide(cloned, approval) == .refused(.clonedCounter))
            #expect(try await store.transaction(cloned.id, now: start)?.status == .failed)
            #expect(try await store.transaction(cloned.id, now: start)?.evidence == nil)
            #expect(
                try await person.audit().suffix(2) == [
                    "transaction_failed cloned_counter", "credential_suspended cloned_counter",
                ]
            )
        }
    }

    @Test(
        "an activation belongs to its account; an attestation key is found by its certificate",
        arguments: StoreKind.allCases
    )
    func attestation(_ kind: StoreKind) async throws {
        try await withStore(kind) { store in
            let person = try await Person(store)
            func activation() async throws -> Activation {
                let activation = Activation(
                    id: .random(),
                    account: person.account.id,
                    secretDigest: [1],
                    certificate: [2],
                    deviceAnchor: [3],
                    expiresAt: start + .seconds(60)
                )
                try await store.openActivation(activation, now: start)
                return activation
            }
            let first = try await activation()
            #expect(try await store.consumeActivation(first.id, of: .random(), now: start) == nil)
            #expect(try await store.consumeActivation(first.id, of: person.account.id, now: start) == first)
            #expect(try await store.consumeActivation(first.id, of: person.account.id, now: start) == nil)
            let late = try await activation()
            #expect(
                try await store.consumeActivation(late.id, of: person.account.id, now: late.expiresAt) == nil
            )

            let key = AttestationKey(
                certificateDigest: [UInt8](repeating: 9, count: 32),
                account: person.account.id,
                deviceAnchor: [3],
                expiresAt: start + .seconds(60)
            )
            let audit = Sample.event(.attestationKeyCertified)
            try await store.recordAttestationKey(key, audit: audit, now: start)
            #expect(
                try await store.attestationKey(certificateDigest: key.certificateDigest, now: start) == key
            )
            #expect(
                try await store.attestationKey(certificateDigest: key.certificateDigest, now: key.expiresAt)
                    == nil
            )
            #expect(try await store.attestationKey(certificateDigest: [1], now: start) == nil)
        }
    }
}
