internal import AccountStore

private enum Statements {
    static let head = SQLStatement(
        "SELECT sequence, hash FROM audit WHERE chain = $1 ORDER BY sequence DESC LIMIT 1"
    )
    static let headByCredential = SQLStatement(
        """
        SELECT sequence, hash FROM audit WHERE chain = (SELECT account FROM credentials WHERE id = $1)
        ORDER BY sequence DESC LIMIT 1
        """
    )
    static let insert = SQLStatement(
        insertInto: "audit",
        """
        chain, sequence, time, name, session, credential, address, trace, reason, details, previous_hash, hash
        """
    )
    static let ofChain = SQLStatement(
        "SELECT \(AuditRecord.columns) FROM audit WHERE chain = $1 AND sequence > $2 ORDER BY sequence LIMIT $3"
    )
    static let ofAllChains = SQLStatement(
        """
        SELECT \(AuditRecord.columns) FROM audit WHERE (chain, sequence) >= ($1, $2)
        ORDER BY chain, sequence LIMIT $3
        """
    )
}

extension SQLConnection {
    /// The chain that an event belongs to.
    func chain(of event: AuditEvent) -> [UInt8] { event.account?.bytes ?? ownChain }

    /// The query for the head of an event's chain, to send along with others.
    func auditHead(of event: AuditEvent) -> SQLQuery {
        SQLQuery(Statements.head, [.bytes(chain(of: event))])
    }

    /// The query for the head of the chain of a credential's account.
    func auditHead(ofAccountWith credential: CredentialID) -> SQLQuery {
        SQLQuery(Statements.headByCredential, [.of(credential)])
    }

    /// Appends an event to its chain.
    func appendAudit(_ event: AuditEvent, now: Timestamp) throws {
        try appendAudit([event], after: rows([auditHead(of: event)])[0], now: now)
    }

    /// Appends events of one chain after its head, whose row is given.
    func appendAudit(_ events: [AuditEvent], after head: [SQLRow], now: Timestamp) throws {
        var sequence: Int64 = 0
        var previous = AuditChain.start
        if var row = head.first {
            sequence = try row.integer()
            previous = try row.bytes()
        }
        for event in events.map(\.storable) {
            sequence += 1
            let chain = chain(of: event)
            let hash = AuditChain.hash(
                chain: chain,
                sequence: sequence,
                time: now,
                event: event,
                previousHash: previous
            )
            try execute(
                Statements.insert,
                .bytes(chain),
                .of(sequence),
                .of(now),
                .of(event.name),
                .of(event.session),
                .of(event.credential),
                .text(event.address),
                .text(event.trace),
                .text(event.reason),
                .text(event.details),
                .bytes(previous),
                .bytes(hash)
            )
            previous = hash
            try addNotice(of: event, now: now)
        }
    }

    func auditPage(of account: AccountID, after sequence: Int64, count: Int) throws -> [AuditRecord] {
        try records(SQLQuery(Statements.ofChain, [.of(account), .of(sequence), .of(count)]))
    }

    func auditPage(from place: AuditPlace, count: Int) throws -> [AuditRecord] {
        try records(SQLQuery(Statements.ofAllChains, [.bytes(place.chain), .of(place.sequence), .of(count)]))
    }

    /// `page` is the engine's own query, which excludes records still being written.
    func auditPage(_ page: SQLStatement, after position: Int64, count: Int) throws -> [AuditRecord] {
        try records(SQLQuery(page, [.of(position), .of(count)]))
    }

    private func records(_ query: SQLQuery) throws -> [AuditRecord] {
        try rows([query])[0].map { row in
            var row = row
            return try AuditRecord(&row)
        }
    }
}

extension AuditEvent {
    /// The event with another name and reason, and another credential if one is given.
    func saying(_ name: Name, reason: String = "", credential: CredentialID? = nil) -> AuditEvent {
        var event = self
        event.name = name
        event.reason = reason
        if let credential { event.credential = credential }
        event.notice?.link = nil
        return event
    }

    /// The event without U+0000, which PostgreSQL cannot store in a text, so that the hash covers what is stored.
    fileprivate var storable: AuditEvent {
        guard [name.rawValue, address, trace, reason, details].contains(where: { $0.utf8.contains(0) }) else {
            return self
        }
        func clean(_ text: String) -> String { text.replacing("\0", with: "\u{FFFD}") }
        var event = saying(Name(rawValue: clean(name.rawValue)), reason: clean(reason))
        event.address = clean(address)
        event.trace = clean(trace)
        event.details = clean(details)
        event.notice = notice
        return event
    }

    /// The same event, in the chain of this account.
    func of(_ account: AccountID) -> AuditEvent {
        var event = self
        event.account = account
        return event
    }
}
