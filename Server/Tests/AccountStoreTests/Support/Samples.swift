import AccountStore

/// The current time of all samples.
let start = Timestamp(seconds: 1_800_000_000)

/// Records like those a server creates.
enum Sample {
    static func account(_ username: String = "ada", password: String? = "$scrypt$1") -> Account {
        Account(
            id: .random(byteCount: 32),
            username: username,
            displayName: "\(username) ⚙︎",
            createdAt: start,
            password: password.map { PasswordRecord(hash: $0, changedAt: start) }
        )
    }

    static func credential(
        _ account: Account,
        signCount: UInt32 = 0,
        anchor: [UInt8]? = nil,
        thumbprint: [UInt8]? = nil
    ) -> Credential {
        Credential(
            id: .random(byteCount: 32),
            account: account.id,
            kind: .device,
            // Equal ones would get numbers.
            label: "laptop \(UInt32.random(in: .min ... .max))",
            publicKey: [UInt8](repeating: 7, count: 77),
            signCount: signCount,
            uvInitialized: false,
            backupEligible: false,
            backupState: false,
            isHardwareBound: true,
            transports: ["internal", "hybrid"],
            aaguid: [UInt8](repeating: 3, count: 16),
            assurance: .tpm,
            uvEvidence: .tpmPolicy,
            deviceAnchor: anchor,
            thumbprint: thumbprint,
            createdAt: start
        )
    }

    static func use(
        _ credential: Credential,
        signCount: UInt32,
        backupEligible: Bool = false,
        openedAt: Timestamp = start
    ) -> CredentialUse {
        CredentialUse(
            id: credential.id,
            signCount: signCount,
            userVerified: true,
            backupEligible: backupEligible,
            backupState: false,
            openedAt: openedAt
        )
    }

    static func digest() -> TokenDigest { TokenDigest(Identifier<Never>.random(byteCount: 38).bytes) }

    static func tokens(at now: Timestamp = start) -> TokenPair {
        TokenPair(access: digest(), accessExpiresAt: now + .seconds(300), refresh: digest())
    }

    static func session(
        _ account: Account,
        credential: Credential? = nil,
        at now: Timestamp = start,
        thumbprint: [UInt8]? = nil,
        idle: Duration = .seconds(3600)
    ) -> Session {
        Session(
            id: .random(),
            account: account.id,
            credential: credential?.id,
            acr: "phrh",
            amr: ["hwk", "user", "pop"],
            authTime: now,
            createdAt: now,
            lastUsedAt: now,
            expiresAt: now + max(.seconds(86_400), idle),
            idleLifetime: idle,
            thumbprint: thumbprint,
            client: "a browser",
            address: "192.0.2.1"
        )
    }

    /// A session that is only for something, as a link opens it.
    static func limitedSession(
        _ account: Account,
        task: SessionTask = .setUp,
        at now: Timestamp = start
    ) -> Session {
        Session(
            id: .random(),
            account: account.id,
            acr: "0",
            amr: [],
            authTime: now,
            createdAt: now,
            lastUsedAt: now,
            expiresAt: now + Limits.limitedSession,
            idleLifetime: .seconds(3600),
            task: task
        )
    }

    /// A link that is valid for an hour.
    static func link(
        _ account: Account,
        _ kind: AccountLink.Kind,
        _ credentials: FormerCredentials = .keep,
        at now: Timestamp = start
    ) -> AccountLink {
        AccountLink(
            digest: digest(),
            account: account.id,
            kind: kind,
            credentials: credentials,
            createdAt: now,
            expiresAt: now + .seconds(3600)
        )
    }

    static func event(_ name: AuditEvent.Name = .loginSuccess) -> AuditEvent {
        AuditEvent(name, address: "192.0.2.1", trace: "0f", details: #"{"origin":"https://a.example"}"#)
    }

    static func ceremony(_ account: Account? = nil, at now: Timestamp = start) -> Ceremony {
        Ceremony(
            id: .random(),
            purpose: .login,
            account: account?.id,
            session: nil,
            options: #"{"challenge":"AAAA","rpId":"a.example"}"#,
            openedAt: now,
            expiresAt: now + .seconds(300)
        )
    }

    static func transaction(_ account: Account, at now: Timestamp = start) -> Transaction {
        Transaction(
            id: .random(),
            account: account.id,
            type: "payment",
            details: #"{"amount":"12.30"}"#,
            nonce: Identifier<Never>.random(byteCount: 32).bytes,
            options: "{}",
            createdAt: now,
            expiresAt: now + .seconds(300)
        )
    }

    static func evidence(_ credential: Credential) -> TransactionEvidence {
        TransactionEvidence(
            credential: credential.id,
            publicKey: credential.publicKey,
            clientDataJSON: [1, 2, 3],
            authenticatorData: [],
            signature: [9]
        )
    }
}

/// An account with a credential.
struct Person: Sendable {
    let store: any AccountStore
    let account: Account
    let credential: Credential

    init(
        _ store: any AccountStore,
        _ username: String = "ada",
        signCount: UInt32 = 0,
        thumbprint: [UInt8]? = nil
    ) async throws {
        self.store = store
        account = Sample.account(username)
        credential = Sample.credential(account, signCount: signCount, thumbprint: thumbprint)
        try await store.createAccount(account, audit: Sample.event(.userCreated), now: start)
        _ = try await store.registerCredential(
            credential,
            keeping: nil,
            audit: Sample.event(.credentialRegistered),
            now: start
        )
    }

    func logIn(
        signCount: UInt32 = 0,
        tokens: TokenPair = Sample.tokens(),
        thumbprint: [UInt8]? = nil,
        proof: ProofIdentifier? = nil,
        idle: Duration = .seconds(3600),
        at now: Timestamp = start
    ) async throws -> LoginOutcome {
        try await store.completeLogin(
            login(
                signCount: signCount,
                tokens: tokens,
                thumbprint: thumbprint,
                proof: proof,
                idle: idle,
                at: now
            )
        )
    }

    /// The completion of a login.
    func login(
        signCount: UInt32 = 0,
        tokens: TokenPair = Sample.tokens(),
        thumbprint: [UInt8]? = nil,
        proof: ProofIdentifier? = nil,
        idle: Duration = .seconds(3600),
        at now: Timestamp = start
    ) -> LoginCompletion {
        LoginCompletion(
            method: .credential(Sample.use(credential, signCount: signCount)),
            session: Sample.session(
                account,
                credential: credential,
                at: now,
                thumbprint: thumbprint,
                idle: idle
            ),
            tokens: tokens,
            proof: proof,
            audit: Sample.event(),
            now: now
        )
    }

    func refresh(
        _ token: TokenDigest,
        to tokens: TokenPair = Sample.tokens(),
        thumbprint: [UInt8]? = nil,
        proof: ProofIdentifier? = nil,
        at now: Timestamp = start
    ) async throws -> RefreshOutcome {
        try await store.refresh(
            RefreshRequest(
                token: token,
                thumbprint: thumbprint,
                proof: proof,
                tokens: tokens,
                audit: Sample.event(.sessionRenewed),
                now: now
            )
        )
    }

    /// The event names of the account's audit records; throws if the chain is not valid.
    func audit() async throws -> [String] {
        let records = try await store.auditPage(of: account.id, after: 0, count: 10_000)
        if let fault = AuditChain.fault(in: records) { throw BrokenChain(fault: fault) }
        return records.map {
            $0.event.name.rawValue + ($0.event.reason.isEmpty ? "" : " " + $0.event.reason)
        }
    }
}

/// All records, once there are so many: transactions of other tests on the same PostgreSQL server hold them back.
func settledAudit(_ store: any AccountStore, count: Int) async throws -> [AuditRecord] {
    while true {
        let page = try await store.auditPage(after: 0, count: count + 1)
        if page.count >= count { return page }
    }
}

struct BrokenChain: Error { let fault: AuditChain.Fault }

extension LoginOutcome {
    var session: Session? {
        guard case .completed(let session, _) = self else { return nil }
        return session
    }
}
