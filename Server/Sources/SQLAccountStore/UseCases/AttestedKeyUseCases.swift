internal import AccountStore

private enum Statements {
    static let exists = SQLStatement("SELECT id FROM attested_keys WHERE id = $1")
    static let insert = SQLStatement(insertInto: "attested_keys", AttestedKey.columns)
    static let ofAccount = SQLStatement(
        "SELECT \(AttestedKey.columns) FROM attested_keys WHERE account = $1 ORDER BY created_at, id"
    )
    static let remove = SQLStatement("DELETE FROM attested_keys WHERE id = $1 AND account = $2 RETURNING id")
    static let removeAll = SQLStatement("DELETE FROM attested_keys WHERE account = $1")
}

extension SQLConnection {
    func addAttestedKey(_ key: AttestedKey, audit: AuditEvent, now: Timestamp) throws {
        _ = try existingAccount(key.account)
        guard try row(Statements.exists, .of(key.id)) == nil else {
            throw StoreError(.conflict(.credentialExists))
        }
        guard try attestedKeys(of: key.account).count < Limits.attestedKeys else {
            throw StoreError(.conflict(.tooManyCredentials))
        }
        try execute(SQLQuery(Statements.insert, key.values))
        try appendAudit(audit.of(key.account), now: now)
    }

    func attestedKeys(of account: AccountID) throws -> [AttestedKey] {
        try rows(Statements.ofAccount, .of(account)).map { row in
            var row = row
            return try AttestedKey(&row)
        }
    }

    func removeAttestedKey(
        _ id: AttestedKeyID,
        of account: AccountID,
        audit: AuditEvent,
        now: Timestamp
    ) throws {
        guard try row(Statements.remove, .of(id), .of(account)) != nil else {
            throw StoreError(.notFound, cause: "no such key")
        }
        try appendAudit(audit.of(account), now: now)
    }

    func removeAttestedKeys(of account: AccountID) throws {
        try execute(Statements.removeAll, .of(account))
    }
}

extension AttestedKey {
    static let columns = "id, account, purpose, name, public_key, device_anchor, created_at"

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            id: try row.id(),
            account: try row.id(),
            purpose: try row.text(),
            name: try row.text(),
            publicKey: try row.bytes(),
            deviceAnchor: try row.optionalBytes(),
            createdAt: try row.time()
        )
    }

    var values: [SQLValue] {
        [
            .of(id), .of(account), .text(purpose), .text(name), .bytes(publicKey), .of(deviceAnchor),
            .of(createdAt),
        ]
    }
}
