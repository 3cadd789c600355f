internal import AccountStore

private enum Statements {
    static let account = SQLStatement("SELECT \(Account.columns) FROM accounts WHERE id = $1")
    static let accountByName = SQLStatement("SELECT \(Account.columns) FROM accounts WHERE username = $1")
    static let credential = SQLStatement("SELECT \(Credential.columns) FROM credentials WHERE id = $1")
    static let accountOfCredential = SQLStatement(
        "SELECT \(Account.columns) FROM accounts WHERE id = (SELECT account FROM credentials WHERE id = $1)"
    )
    static let openCeremony = SQLStatement(
        insertInto: "ceremonies",
        Ceremony.columns,
        then: " ON CONFLICT (id) DO NOTHING RETURNING id"
    )
    /// The same, if a limit counted just before is not exceeded, nor the failures of an address, unless the name has
    /// none.
    static let openCeremonyWithin = SQLStatement(
        """
        INSERT INTO ceremonies (\(Ceremony.columns)) SELECT $1, $2, $3, $4, $5, $6, $7
        WHERE EXISTS (SELECT 1 FROM limits WHERE key = $8 AND count <= $9) AND (
            NOT EXISTS (SELECT 1 FROM limits WHERE key = $10 AND count >= $11 AND expires_at > $12)
            OR NOT EXISTS (SELECT 1 FROM limits WHERE key = $13 AND expires_at > $12))
        ON CONFLICT (id) DO NOTHING
        """,
        returning: "id",
        .counted
    )
    static let consumeCeremony = SQLStatement(
        "DELETE FROM ceremonies WHERE id = $1",
        returning: Ceremony.columns,
        .before(SQLStatement("SELECT \(Ceremony.columns) FROM ceremonies WHERE id = $1"))
    )
    static let openActivation = SQLStatement(
        insertInto: "activations",
        "id, account, secret_digest, attestation_key, device_anchor, expires_at",
        then: " ON CONFLICT (id) DO NOTHING RETURNING id"
    )
    static let consumeActivation = SQLStatement(
        """
        DELETE FROM activations WHERE id = $1 AND account = $2
        RETURNING id, account, secret_digest, attestation_key, device_anchor, expires_at
        """
    )
    static let recordKey = SQLStatement(
        insertInto: "attestation_keys",
        "certificate, account, device_anchor, expires_at"
    )
    static let key = SQLStatement(
        """
        SELECT certificate, account, device_anchor, expires_at FROM attestation_keys
        WHERE certificate = $1 AND expires_at > $2
        """
    )
}

extension SQLConnection {
    func account(_ id: AccountID) throws -> Account? {
        guard var row = try row(Statements.account, .of(id)) else { return nil }
        return try Account(&row)
    }

    func account(username: String) throws -> Account? {
        guard var row = try row(Statements.accountByName, .text(username)) else { return nil }
        return try Account(&row)
    }

    /// The account, or ``StoreError/Code/notFound``.
    func existingAccount(_ id: AccountID) throws -> Account {
        guard let account = try account(id) else { throw StoreError(.notFound, cause: "no such account") }
        return account
    }

    func loginAccount(username: String) throws -> AccountWithCredentials? {
        // An unknown name takes as long as a known one.
        let found = try account(username: username)
        let credentials = try credentials(of: found?.id ?? AccountID([UInt8](repeating: 0, count: 32)))
        return found.map { AccountWithCredentials(account: $0, credentials: credentials) }
    }

    func openCeremony(
        _ ceremony: Ceremony,
        limits: [RateLimit],
        failures: FailureLimit?,
        now: Timestamp
    ) throws -> LimitVerdict {
        let opened: [SQLRow]
        if limits.count == 1 {
            // All in one round trip.
            let within =
                ceremony.values + [limits[0].key.digest, .of(limits[0].most)] + failures.values(now: now)
            let answers = try rows([
                takeQuery(limits[0], now: now), SQLQuery(Statements.openCeremonyWithin, within),
                failuresQuery(failures, now: now),
            ])
            let verdict = try self.verdict(of: limits[0], answers[0])
            guard verdict == .allowed else { return verdict }
            opened = answers[1]
            if opened.isEmpty, let until = try failures?.exceeded(answers[2]) { return until }
        } else {
            let verdict = try take(limits, now: now)
            guard verdict == .allowed else { return verdict }
            if let failures, let until = try failures.exceeded(rows([failuresQuery(failures, now: now)])[0]),
                try failures.name.map({ try !rows([failuresQuery(of: $0, now: now)])[0].isEmpty }) ?? true
            {
                return until
            }
            opened = try rows([SQLQuery(Statements.openCeremony, ceremony.values)])[0]
        }
        guard !opened.isEmpty else {
            throw StoreError(.conflict(.identifierTaken), cause: "ceremony")
        }
        return .allowed
    }

    func consumeCeremony(
        _ id: CeremonyID,
        presenting presented: CredentialID?,
        now: Timestamp
    ) throws -> ConsumedCeremony? {
        try consumed(try rows(consumeQueries(id, presenting: presented)), now: now)
    }

    /// The queries that remove a ceremony and look up a credential and its account, to send along with others.
    func consumeQueries(_ id: CeremonyID, presenting presented: CredentialID?) -> [SQLQuery] {
        let consume = SQLQuery(Statements.consumeCeremony, [.of(id)])
        guard let presented else { return [consume] }
        return [
            consume, SQLQuery(Statements.credential, [.of(presented)]),
            SQLQuery(Statements.accountOfCredential, [.of(presented)]),
        ]
    }

    /// The result of ``consumeQueries(_:presenting:)``, from the first answers; nil: there is no valid ceremony.
    func consumed(_ answers: [[SQLRow]], now: Timestamp) throws -> ConsumedCeremony? {
        guard var row = answers[0].first else { return nil }
        let ceremony = try Ceremony(&row)
        guard ceremony.expiresAt > now else { return nil }
        guard answers.count > 2, var found = answers[1].first else {
            return ConsumedCeremony(ceremony: ceremony, credential: nil, account: nil)
        }
        return ConsumedCeremony(
            ceremony: ceremony,
            credential: try Credential(&found),
            account: try answers[2].first.map { row in
                var row = row
                return try Account(&row)
            }
        )
    }

    func openActivation(_ activation: Activation) throws {
        let added = try rows(
            Statements.openActivation,
            .of(activation.id),
            .of(activation.account),
            .bytes(activation.secretDigest),
            .bytes(activation.certificate),
            .bytes(activation.deviceAnchor),
            .of(activation.expiresAt)
        )
        guard !added.isEmpty else { throw StoreError(.conflict(.identifierTaken), cause: "activation") }
    }

    func consumeActivation(_ id: ActivationID, of account: AccountID, now: Timestamp) throws -> Activation? {
        guard var row = try row(Statements.consumeActivation, .of(id), .of(account)) else { return nil }
        let activation = Activation(
            id: try row.id(),
            account: try row.id(),
            secretDigest: try row.bytes(),
            certificate: try row.bytes(),
            deviceAnchor: try row.bytes(),
            expiresAt: try row.time()
        )
        return activation.expiresAt > now ? activation : nil
    }

    func recordAttestationKey(_ key: AttestationKey, audit: AuditEvent, now: Timestamp) throws {
        try appendAudit(audit.of(key.account), now: now)
        try execute(
            Statements.recordKey,
            .bytes(key.certificateDigest),
            .of(key.account),
            .bytes(key.deviceAnchor),
            .of(key.expiresAt)
        )
    }

    func attestationKey(certificateDigest: [UInt8], now: Timestamp) throws -> AttestationKey? {
        guard var row = try row(Statements.key, .bytes(certificateDigest), .of(now)) else { return nil }
        return AttestationKey(
            certificateDigest: try row.bytes(),
            account: try row.id(),
            deviceAnchor: try row.bytes(),
            expiresAt: try row.time()
        )
    }
}

extension FailureLimit? {
    /// The values of the conditions: the address's key and maximum, the time, the name's key or again the address's.
    fileprivate func values(now: Timestamp) -> [SQLValue] {
        guard let self else { return [.null, .integer(0), .of(now), .null] }
        return [
            self.address.key.digest, .of(self.address.most), .of(now),
            (self.name ?? self.address.key).digest,
        ]
    }
}
