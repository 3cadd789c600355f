internal import AccountStore
internal import Crypto

private enum Statements {
    static let take = SQLStatement(
        """
        INSERT INTO limits (key, count, since, expires_at) VALUES ($1, 1, $2, $3)
        ON CONFLICT (key) DO UPDATE SET
            count = CASE WHEN limits.expires_at <= $2 THEN 1 ELSE limits.count + 1 END,
            since = CASE WHEN limits.expires_at <= $2 THEN $2 ELSE limits.since END,
            expires_at = CASE WHEN limits.expires_at <= $2 THEN $3 ELSE limits.expires_at END
        """,
        returning: "count, expires_at",
        .after(SQLStatement("SELECT count, expires_at FROM limits WHERE key = $1"))
    )
    static let attempts = SQLStatement("SELECT count, since FROM limits WHERE key = $1 AND expires_at > $2")
    static let failures = SQLStatement(
        "SELECT count, expires_at FROM limits WHERE key = $1 AND expires_at > $2"
    )
    static let setAttempts = SQLStatement(
        """
        INSERT INTO limits (key, count, since, expires_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (key) DO UPDATE SET count = $2, since = $3, expires_at = $4
        """
    )
    static let giveBack = SQLStatement(
        "UPDATE limits SET count = count - 1 WHERE key = $1 AND since <= $2 AND expires_at > $2 AND count > 0"
    )
    static let reset = SQLStatement("DELETE FROM limits WHERE key = $1")
    static let takeProof = SQLStatement(
        "INSERT INTO proofs (digest, expires_at) VALUES ($1, $2) ON CONFLICT (digest) DO NOTHING",
        returning: "digest",
        .counted
    )
}

/// How long consecutive failures are remembered after the last one.
private let attemptMemory = Duration.seconds(30 * 86_400)

extension LimitKey {
    /// A digest has a fixed length and does not reveal the subject.
    var digest: SQLValue { .bytes(Array(SHA256.hash(data: Array(text.utf8)))) }
}

extension FailureLimit {
    /// The verdict if the address has too many failures, whose row is given; nil: it has not.
    func exceeded(_ answer: [SQLRow]) throws -> LimitVerdict? {
        guard var row = answer.first, try row.integer() >= address.most else { return nil }
        return .exceeded(address.key, until: try row.time())
    }
}

extension SQLConnection {
    func take(_ limits: [RateLimit], now: Timestamp) throws -> LimitVerdict {
        for limit in limits {
            let verdict = try verdict(of: limit, try rows([takeQuery(limit, now: now)])[0])
            guard verdict == .allowed else { return verdict }
        }
        return .allowed
    }

    /// The query that counts a use of a limit, to send along with others.
    func takeQuery(_ limit: RateLimit, now: Timestamp) -> SQLQuery {
        SQLQuery(Statements.take, [limit.key.digest, .of(now), .of(now + limit.window)])
    }

    /// The verdict in the answer to ``takeQuery(_:now:)``.
    func verdict(of limit: RateLimit, _ answer: [SQLRow]) throws -> LimitVerdict {
        guard var row = answer.first else { throw StoreError(.damaged, cause: "limits") }
        guard try row.integer() <= limit.most else { return .exceeded(limit.key, until: try row.time()) }
        return .allowed
    }

    /// The query for the failures of an address, for ``FailureLimit/exceeded(_:)``, to send along with others.
    func failuresQuery(_ limit: FailureLimit?, now: Timestamp) -> SQLQuery {
        SQLQuery(Statements.failures, [limit?.address.key.digest ?? .null, .of(now)])
    }

    /// The query for the failures of a key.
    func failuresQuery(of key: LimitKey, now: Timestamp) -> SQLQuery {
        SQLQuery(Statements.failures, [key.digest, .of(now)])
    }

    func takeAttempt(
        _ key: LimitKey,
        delay: (_ failures: Int) -> Duration?,
        limits: [RateLimit],
        now: Timestamp
    ) throws -> AttemptVerdict {
        let verdict = try take(limits, now: now)
        var failures = 0
        if var row = try row(Statements.attempts, key.digest, .of(now)) {
            failures = Int(try row.integer())
            let since = try row.time()
            // Beyond the limit of an address, names without failures pass.
            if failures > 0, case .exceeded(let key, let until) = verdict {
                return .exceeded(key, until: until)
            }
            let until = delay(failures).map { since + $0 } ?? since.endOfDay
            guard until <= now else { return .wait(failures: failures, until: until) }
        }
        try execute(
            Statements.setAttempts,
            key.digest,
            .of(failures + 1),
            .of(now),
            .of(now + attemptMemory)
        )
        return .allowed(failures: failures)
    }

    func giveBack(_ keys: [LimitKey], now: Timestamp) throws {
        for key in keys { try execute(Statements.giveBack, key.digest, .of(now)) }
    }

    func reset(_ keys: [LimitKey]) throws {
        for key in keys { try execute(Statements.reset, key.digest) }
    }

    func takeProof(_ proof: ProofIdentifier) throws -> ProofVerdict {
        try rows(Statements.takeProof, .bytes(proof.digest), .of(proof.expiresAt)).isEmpty
            ? .replayed : .fresh
    }
}
