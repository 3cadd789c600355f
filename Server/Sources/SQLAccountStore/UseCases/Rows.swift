internal import AccountStore

// Reading records from rows, and the columns in the same order.

extension Account {
    static let columns =
        """
        id, username, display_name, created_at, locked_at, password_hash, password_changed_at, \
        password_must_change
        """

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            id: try row.id(),
            username: try row.text(),
            displayName: try row.text(),
            createdAt: try row.time(),
            lockedAt: try row.optionalTime()
        )
        let hash = try row.optionalText()
        let changedAt = try row.optionalTime()
        let mustChange = try row.flag()
        if let hash, let changedAt {
            password = PasswordRecord(hash: hash, changedAt: changedAt, mustChange: mustChange)
        }
    }
}

extension Credential {
    static let columns = """
        id, account, kind, label, public_key, sign_count, uv_initialized, backup_eligible, backup_state, \
        hardware_bound, transports, aaguid, assurance, uv_evidence, device_anchor, thumbprint, created_at, \
        last_used_at, suspension, statement, consent
        """

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            id: try row.id(),
            account: try row.id(),
            kind: try row.word(),
            label: try row.text(),
            publicKey: try row.bytes(),
            signCount: UInt32(truncatingIfNeeded: try row.integer()),
            uvInitialized: try row.flag(),
            backupEligible: try row.flag(),
            backupState: try row.flag(),
            isHardwareBound: try row.flag(),
            transports: Words.split(try row.text()),
            aaguid: try row.bytes(),
            assurance: try row.word(),
            uvEvidence: try row.word(),
            deviceAnchor: try row.optionalBytes(),
            thumbprint: try row.optionalBytes(),
            createdAt: try row.time(),
            lastUsedAt: try row.optionalTime(),
            suspension: try row.optionalWord(),
            statement: try row.optionalText(),
            consent: try row.optionalText()
        )
    }

    var values: [SQLValue] {
        [
            .of(id), .of(account), .of(kind), .text(label), .bytes(publicKey), .of(signCount),
            .of(uvInitialized), .of(backupEligible), .of(backupState), .of(isHardwareBound),
            .text(Words.join(transports)), .bytes(aaguid), .of(assurance), .of(uvEvidence), .of(deviceAnchor),
            .of(thumbprint), .of(createdAt), .of(lastUsedAt), .of(suspension), .of(statement),
            .of(consent),
        ]
    }
}

extension Session {
    static let columns = """
        account, id, credential, acr, amr, auth_time, created_at, last_used_at, expires_at, idle_lifetime, \
        thumbprint, client, address, task, assurance, epoch
        """

    /// - Returns: the session and its epoch, which its tokens share.
    static func read(_ row: inout SQLRow) throws(StoreError) -> (session: Session, epoch: Int64) {
        let account: AccountID = try row.id()
        let session = Session(
            id: try row.id(),
            account: account,
            credential: try row.optionalID(),
            acr: try row.text(),
            amr: Words.split(try row.text()),
            authTime: try row.time(),
            createdAt: try row.time(),
            lastUsedAt: try row.time(),
            expiresAt: try row.time(),
            idleLifetime: try row.duration(),
            thumbprint: try row.optionalBytes(),
            client: try row.text(),
            address: try row.text(),
            task: try row.optionalWord(),
            assurance: Words.split(try row.text())
        )
        return (session, try row.integer())
    }

    func values(epoch: Int64) -> [SQLValue] {
        [
            .of(account), .of(id), .of(credential), .text(acr), .text(Words.join(amr)), .of(authTime),
            .of(createdAt), .of(lastUsedAt), .of(expiresAt), .of(idleLifetime), .of(thumbprint),
            .text(client),
            .text(address), .of(task), .text(Words.join(assurance)), .of(epoch),
        ]
    }
}

extension Ceremony {
    static let columns = "id, purpose, account, session, options, opened_at, expires_at"

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            id: try row.id(),
            purpose: try row.word(),
            account: try row.optionalID(),
            session: try row.optionalID(),
            options: try row.text(),
            openedAt: try row.time(),
            expiresAt: try row.time()
        )
    }

    var values: [SQLValue] {
        [
            .of(id), .of(purpose), .of(account), .of(session), .text(options), .of(openedAt), .of(expiresAt),
        ]
    }
}

extension Transaction {
    static let columns = """
        id, account, type, details, nonce, options, created_at, expires_at, status, decided_at, credential, \
        public_key, client_data, authenticator_data, signature
        """

    init(_ row: inout SQLRow, now: Timestamp) throws(StoreError) {
        self.init(
            id: try row.id(),
            account: try row.id(),
            type: try row.text(),
            details: try row.text(),
            nonce: try row.bytes(),
            options: try row.text(),
            createdAt: try row.time(),
            expiresAt: try row.time()
        )
        status = try row.word()
        if status == .pending, expiresAt <= now { status = .expired }
        decidedAt = try row.optionalTime()
        if let credential = try row.optionalBytes() {
            evidence = TransactionEvidence(
                credential: CredentialID(credential),
                publicKey: try row.bytes(),
                clientDataJSON: try row.bytes(),
                authenticatorData: try row.bytes(),
                signature: try row.bytes()
            )
        }
    }
}

extension AuditRecord {
    static let columns = """
        position, chain, sequence, time, name, session, credential, address, trace, reason, details, previous_hash, hash
        """
    /// The length of the ids of the store's own chains; accounts have longer ids.
    static let ownChainByteCount = 8

    init(_ row: inout SQLRow) throws(StoreError) {
        let position = try row.integer()
        let chain = try row.bytes()
        let sequence = try row.integer()
        let time = try row.time()
        var event = AuditEvent(AuditEvent.Name(rawValue: try row.text()))
        event.account = chain.count == Self.ownChainByteCount ? nil : AccountID(chain)
        event.session = try row.optionalID()
        event.credential = try row.optionalID()
        event.address = try row.text()
        event.trace = try row.text()
        event.reason = try row.text()
        event.details = try row.text()
        self.init(
            position: position,
            chain: chain,
            sequence: sequence,
            time: time,
            event: event,
            previousHash: try row.bytes(),
            hash: try row.bytes()
        )
    }
}

extension AdminToken {
    static let columns = "digest, name, role, created_at, expires_at"

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            digest: TokenDigest(try row.bytes()),
            name: try row.text(),
            role: try row.word(),
            createdAt: try row.time(),
            expiresAt: try row.optionalTime()
        )
    }

    var values: [SQLValue] { [.of(digest), .text(name), .of(role), .of(createdAt), .of(expiresAt)] }
}

extension AccountLink {
    static let columns = "digest, account, kind, credentials, created_at, expires_at"

    init(_ row: inout SQLRow) throws(StoreError) {
        self.init(
            digest: TokenDigest(try row.bytes()),
            account: try row.id(),
            kind: try row.word(),
            credentials: try row.word(),
            createdAt: try row.time(),
            expiresAt: try row.time()
        )
    }

    var values: [SQLValue] {
        [.of(digest), .of(account), .of(kind), .of(credentials), .of(createdAt), .of(expiresAt)]
    }
}

/// A list of words in one text; none of them contains a space (transports, `amr`).
enum Words {
    static func join(_ words: [String]) -> String { words.joined(separator: " ") }

    static func split(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
}

extension SQLStatement {
    /// An `INSERT` of all columns.
    convenience init(insertInto table: String, _ columns: String, then: String = "") {
        let count = columns.split(separator: ",").count
        let values = (1...count).map { "$\($0)" }.joined(separator: ", ")
        self.init("INSERT INTO \(table) (\(columns)) VALUES (\(values))\(then)")
    }
}
