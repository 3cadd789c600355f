internal import AccountStore
internal import SecureRandom

private enum Statements {
    static let insert = SQLStatement(insertInto: "notices", "\(Notice.columns), due_at")
    static let due = SQLStatement("SELECT id FROM notices WHERE due_at <= $1 LIMIT 1")
    static let take = SQLStatement(
        """
        UPDATE notices SET due_at = $1, attempts = attempts + 1
        WHERE id IN (SELECT id FROM notices WHERE due_at <= $2 ORDER BY due_at, id LIMIT $3)
        RETURNING \(Notice.columns)
        """
    )
    static let remove = SQLStatement("DELETE FROM notices WHERE id = $1")
    static let postpone = SQLStatement("UPDATE notices SET due_at = $2 WHERE id = $1")
}

extension SQLConnection {
    /// Adds the notice of an event, if it asks for one and the account exists.
    func addNotice(of event: AuditEvent, now: Timestamp) throws {
        guard let request = event.notice, Notice.events.contains(event.name), let id = event.account,
            let account = try account(id)
        else { return }
        try execute(
            Statements.insert,
            .bytes(SecureRandom.bytes(16)),
            .of(event.name),
            .of(id),
            .text(account.username),
            .text(account.displayName),
            .of(now),
            .of(request.expiresAt),
            .of(0),
            .of(request.byAdministrator),
            .text(request.byAdministrator ? "" : event.address),
            .text(event.trace),
            .text(event.reason),
            .of(request.link),
            .of(now)
        )
    }

    func hasDueNotice(now: Timestamp) throws -> Bool { try row(Statements.due, .of(now)) != nil }

    func takeNotices(count: Int, until lease: Timestamp, now: Timestamp) throws -> [Notice] {
        try rows(Statements.take, .of(lease), .of(now), .of(count)).map { row in
            var row = row
            return try Notice(&row)
        }.sorted { $0.time < $1.time }
    }

    func removeNotice(_ id: [UInt8]) throws { try execute(Statements.remove, .bytes(id)) }

    func postponeNotice(_ id: [UInt8], until time: Timestamp) throws {
        try execute(Statements.postpone, .bytes(id), .of(time))
    }
}

extension Notice {
    fileprivate static let columns = """
        id, event, account, username, display_name, time, expires_at, attempts, by_administrator, address, trace,
        reason, link
        """

    fileprivate init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            id: try row.bytes(),
            event: try row.word(),
            account: try row.id(),
            username: try row.text(),
            displayName: try row.text(),
            time: try row.time(),
            expiresAt: try row.time(),
            attempts: Int(try row.integer()),
            byAdministrator: try row.flag(),
            address: try row.text(),
            trace: try row.text(),
            reason: try row.text(),
            link: try row.optionalText()
        )
    }
}
