internal import AccountStore

private enum Statements {
    static let beat = SQLStatement(
        """
        INSERT INTO heartbeats (instance, expires_at) VALUES ($1, $2)
        ON CONFLICT (instance) DO UPDATE SET expires_at = $2
        """
    )
    static let propose = SQLStatement(
        "INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING"
    )
    static let secret = SQLStatement("SELECT value FROM secrets WHERE name = $1")
    static let auditEnd = SQLStatement(
        "SELECT position FROM audit WHERE position > $1 ORDER BY position LIMIT 1 OFFSET $2"
    )
    /// Of each chain a beginning: neither positions nor times need have the order of a chain, whose events several servers
    /// write, and a gap would be a sign of tampering.
    static let purgeAudit = SQLStatement(
        """
        DELETE FROM audit WHERE position > $1 AND position <= $2 AND time < $3
            AND EXISTS (SELECT 1 FROM audit n WHERE n.chain = audit.chain AND n.sequence > audit.sequence)
            AND NOT EXISTS (
                SELECT 1 FROM audit o WHERE o.chain = audit.chain AND o.sequence < audit.sequence
                    AND (o.position <= $1 OR o.position > $2 OR o.time >= $3))
        RETURNING position
        """
    )
}

/// A table whose rows expire, scanned in key order.
private struct Sweep {
    /// Finds the key after a number of rows.
    let end: SQLStatement
    /// Removes expired rows between two keys.
    let remove: SQLStatement
    /// The time that the rows' end is compared with.
    let limit: @Sendable (PurgeSettings, Timestamp) -> Timestamp

    init(
        _ table: String,
        key: String = "id",
        where condition: String = "expires_at <= $3",
        limit: @escaping @Sendable (PurgeSettings, Timestamp) -> Timestamp = { $1 }
    ) {
        end = SQLStatement("SELECT \(key) FROM \(table) WHERE \(key) > $1 ORDER BY \(key) LIMIT 1 OFFSET $2")
        remove = SQLStatement(
            "DELETE FROM \(table) WHERE \(key) > $1 AND \(key) <= $2 AND (\(condition)) RETURNING \(key)"
        )
        self.limit = limit
    }

    static let all = [
        Sweep("ceremonies"),
        Sweep("activations"),
        Sweep("attestation_keys", key: "certificate"),
        Sweep("transactions", limit: { $1 - $0.transactionRetention }),
        Sweep("limits", key: "key"),
        Sweep("proofs", key: "digest"),
        Sweep("access_tokens", key: "digest"),
        // $3 is the latest replacement time of tokens to forget; the end of their session is in the past then too.
        Sweep(
            "refresh_tokens",
            key: "digest",
            where: """
                expires_at <= $3 OR replaced_at <= $3 OR NOT EXISTS (
                    SELECT 1 FROM sessions s WHERE s.account = refresh_tokens.account
                        AND s.id = refresh_tokens.session AND s.epoch = refresh_tokens.epoch)
                """,
            limit: { $1 - $0.replacedTokenRetention }
        ),
        Sweep("sessions", key: "account", where: "expires_at <= $3 OR last_used_at + idle_lifetime <= $3"),
        Sweep("heartbeats", key: "instance"),
        Sweep("token_keys", key: "thumbprint"),
        Sweep("account_links", key: "digest"),
        // Mostly the server gives them up before, and says so in its log; these had no hook any more.
        Sweep("notices", limit: { $1 - Notice.lifetime }),
    ]
}

/// Greater than all keys: no digest or id is as long and starts like this.
private let lastKey = [UInt8](repeating: 0xFF, count: 65)

extension SQLConnection {
    func checkReady(now: Timestamp) throws {
        try execute(Statements.beat, .bytes(ownChain), .of(now + .seconds(86_400)))
    }

    func sharedSecret(named name: String, proposing proposal: [UInt8]) throws -> [UInt8] {
        try execute(Statements.propose, .text(name), .bytes(proposal))
        guard var row = try row(Statements.secret, .text(name)) else {
            throw StoreError(.damaged, cause: "secrets")
        }
        return try row.bytes()
    }

    func purge(from cursor: PurgeCursor?, _ settings: PurgeSettings, now: Timestamp) throws -> PurgeResult {
        let cursor = cursor ?? PurgeCursor(table: 0, key: [])
        guard cursor.table < Sweep.all.count else { return try purgeAudit(cursor, settings, now: now) }
        let sweep = Sweep.all[cursor.table]
        var end: [UInt8]?
        if var row = try row(sweep.end, .bytes(cursor.key), .of(settings.rowsAtATime)) {
            end = try row.bytes()
        }
        let removed = try rows(
            sweep.remove,
            .bytes(cursor.key),
            .bytes(end ?? lastKey),
            .of(sweep.limit(settings, now))
        ).count
        let next = end.map { PurgeCursor(table: cursor.table, key: $0) }
        return PurgeResult(removed: removed, next: next ?? PurgeCursor(table: cursor.table + 1, key: []))
    }

    private func purgeAudit(
        _ cursor: PurgeCursor,
        _ settings: PurgeSettings,
        now: Timestamp
    ) throws -> PurgeResult {
        let start = cursor.key.reduce(Int64(0)) { $0 << 8 | Int64($1) }
        var end: Int64?
        if var row = try row(Statements.auditEnd, .of(start), .of(settings.rowsAtATime)) {
            end = try row.integer()
        }
        let removed = try rows(
            Statements.purgeAudit,
            .of(start),
            .of(end ?? .max),
            .of(now - settings.auditRetention)
        ).count
        let key = end.map { end in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: end >> Int64($0)) }
        }
        return PurgeResult(removed: removed, next: key.map { PurgeCursor(table: cursor.table, key: $0) })
    }
}
