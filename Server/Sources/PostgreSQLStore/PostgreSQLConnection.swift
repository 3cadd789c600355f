internal import AccountStore
internal import CPostgreSQL
internal import Dispatch
internal import Glibc
internal import SQLAccountStore

/// A connection in pipeline mode: statements without results are sent together with the next query, so that a
/// transaction that reads, decides and writes takes two round trips.
///
/// Used on one thread at a time, which waits no longer than ``deadline``.
final class PostgreSQLConnection: SQLConnection {
    let ownChain = Identifier<Never>.random(byteCount: 8).bytes
    /// Until when the current transaction waits for the server.
    var deadline: DispatchTime

    private enum Sent {
        case preparation(String)
        case query(isWanted: Bool)
    }

    private let handle: OpaquePointer
    /// Whether statements are prepared once; else they are parsed each time.
    private let preparation: StatementPreparation
    /// The names of the statements that the server has prepared: two with the same text are one.
    private var prepared: Set<String> = []
    /// What was sent and is not answered yet.
    private var sent: [Sent] = []

    /// Connects.
    init(_ conninfo: String, _ preparation: StatementPreparation, deadline: DispatchTime) throws {
        guard let handle = PQconnectStart(conninfo) else { throw PostgreSQLFailure.lost("no memory") }
        self.handle = handle
        self.preparation = preparation
        self.deadline = deadline
        // Otherwise libpq prints the server's notices.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        // If this throws, deinit still closes the connection.
        try connect()
    }

    deinit { PQfinish(handle) }

    private func connect() throws {
        guard PQstatus(handle) != CONNECTION_BAD else { throw PostgreSQLFailure.lost(message) }
        var state = PGRES_POLLING_WRITING
        while state != PGRES_POLLING_OK {
            switch state {
            case PGRES_POLLING_READING: try wait(for: POLLIN)
            case PGRES_POLLING_WRITING: try wait(for: POLLOUT)
            default: throw PostgreSQLFailure.lost(message)
            }
            state = PQconnectPoll(handle)
        }
        // Version 13 introduced pg_current_xact_id.
        guard PQserverVersion(handle) >= 130_000 else {
            throw StoreError(.unavailable, cause: "PostgreSQL \(PQserverVersion(handle)) is older than 13")
        }
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            throw PostgreSQLFailure.lost(message)
        }
    }

    /// Whether no transaction is open, also after a failed commit.
    var isOutsideTransaction: Bool { sent.isEmpty && PQtransactionStatus(handle) == PQTRANS_IDLE }

    /// Whether the server sent something unrequested: usually that it shuts down.
    var isStale: Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) != 0
    }

    /// The hash alone, so that keys are in random order: serializable transactions conflict if they read and write the same page
    /// of an index, and with keys in the order of time half as many tokens rotated (`Benchmarks/README.md`).
    func key(of token: TokenDigest) -> SQLValue { .bytes(token.hash) }

    // MARK: Statements

    func rows(_ queries: [SQLQuery]) throws -> [[SQLRow]] {
        for query in queries { try send(query, isWanted: true) }
        return try answers()
    }

    func execute(_ query: SQLQuery) throws { try send(query, isWanted: false) }

    /// Sends what is queued, and waits until all of it is answered.
    func finish() throws { _ = try answers() }

    /// Runs a statement text that is used only once.
    func run(once text: String) throws {
        guard PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1) == 1 else {
            throw PostgreSQLFailure.lost(message)
        }
        sent.append(.query(isWanted: false))
        _ = try answers()
    }

    private func send(_ query: SQLQuery, isWanted: Bool) throws {
        let (name, text) = (query.statement.name, query.statement.text)
        let isPrepared = preparation.isPossible
        if isPrepared, prepared.insert(name).inserted {
            guard PQsendPrepare(handle, name, text, 0, nil) == 1 else {
                throw PostgreSQLFailure.lost(message)
            }
            sent.append(.preparation(name))
        }
        let count = CInt(query.values.count)
        let isSent = BinaryValues(query.values).withPointers { pointers, lengths, formats in
            isPrepared
                ? PQsendQueryPrepared(handle, name, count, pointers, lengths, formats, 1) == 1
                : PQsendQueryParams(handle, text, count, nil, pointers, lengths, formats, 1) == 1
        }
        guard isSent else { throw PostgreSQLFailure.lost(message) }
        sent.append(.query(isWanted: isWanted))
    }

    /// The rows of the wanted results, in order; throws the first error of any statement sent.
    private func answers() throws -> [[SQLRow]] {
        guard PQpipelineSync(handle) == 1 else { throw PostgreSQLFailure.lost(message) }
        var rows: [[SQLRow]] = []
        var failure: PostgreSQLFailure?
        var damage: StoreError?
        for item in sent {
            while let result = try nextResult() {
                defer { PQclear(result) }
                let status = PQresultStatus(result)
                guard status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK else {
                    if case .preparation(let name) = item { prepared.remove(name) }
                    if status != PGRES_PIPELINE_ABORTED, failure == nil { failure = Self.failure(result) }
                    continue
                }
                guard case .query(isWanted: true) = item else { continue }
                do throws(StoreError) {
                    rows.append(try Self.rows(result))
                } catch {
                    damage = error
                }
            }
        }
        sent = []
        // The result of the sync.
        guard let result = try nextResult(), PQresultStatus(result) == PGRES_PIPELINE_SYNC else {
            throw PostgreSQLFailure.lost("out of step: \(message)")
        }
        PQclear(result)
        if let failure { throw failure }
        if let damage { throw damage }
        return rows
    }

    private static func rows(_ result: OpaquePointer) throws(StoreError) -> [SQLRow] {
        let columns = PQnfields(result)
        var rows: [SQLRow] = []
        for row in 0..<PQntuples(result) {
            var values: [SQLValue] = []
            values.reserveCapacity(Int(columns))
            for column in 0..<columns { values.append(try BinaryValues.value(result, row, column)) }
            rows.append(SQLRow(values))
        }
        return rows
    }

    private static func failure(_ result: OpaquePointer) -> PostgreSQLFailure {
        // PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY
        let state = PQresultErrorField(result, CInt(UInt8(ascii: "C"))).map { String(cString: $0) }
        let text = PQresultErrorField(result, CInt(UInt8(ascii: "M"))).map { String(cString: $0) }
        return PostgreSQLFailure(state: state, message: text ?? String(cString: PQresultErrorMessage(result)))
    }

    // MARK: Waiting

    /// The next result; nil at the end of a command's results.
    private func nextResult() throws -> OpaquePointer? {
        while true {
            let flushed = PQflush(handle)
            guard flushed >= 0 else { throw PostgreSQLFailure.lost(message) }
            if flushed == 0, PQisBusy(handle) == 0 { return PQgetResult(handle) }
            try wait(for: flushed == 0 ? POLLIN : POLLIN | POLLOUT)
            guard PQconsumeInput(handle) == 1 else { throw PostgreSQLFailure.lost(message) }
        }
    }

    private func wait(for events: CInt) throws {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
        while true {
            let now = DispatchTime.now()
            guard deadline > now else { throw PostgreSQLFailure.lost("no answer in time") }
            let left = (deadline.uptimeNanoseconds - now.uptimeNanoseconds) / 1_000_000 + 1
            let count = poll(&descriptor, 1, CInt(clamping: left))
            if count > 0 { return }
            if count < 0, errno != EINTR { throw PostgreSQLFailure.lost(String(cString: strerror(errno))) }
        }
    }

    private var message: String {
        String(cString: PQerrorMessage(handle)).split(separator: "\n").joined(separator: " ")
    }
}
