internal import AccountStore
internal import Dispatch
internal import Glibc
internal import SQLAccountStore
internal import Synchronization

/// A pool of connections, each with its own thread.
final class PostgreSQLEngine: SQLEngine {
    private let workers: WorkerPool<PostgreSQLWorker>
    private let counts = Mutex(StoreStatistics())

    init(_ configuration: PostgreSQLStore.Configuration) throws(StoreError) {
        let preparation = StatementPreparation(notice: configuration.notice)
        let first = PostgreSQLWorker(configuration, preparation)
        try first.checkSchema()
        let more = (1..<max(configuration.connectionCount, 1)).map { _ in
            PostgreSQLWorker(configuration, preparation)
        }
        workers = WorkerPool(
            more + [first],
            label: "touchstone.accounts connection",
            deadlines: Deadlines(configuration.timeout),
            waiting: configuration.mostWaiting
        )
    }

    func write<R: Sendable>(
        _ isolation: SQLIsolation,
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R {
        do throws(StoreError) {
            let (value, tries, busy) = try await workers.run { worker throws(StoreError) in
                try worker.write(isolation, body)
            }
            counts.withLock {
                $0.writes += 1
                $0.commits += 1
                $0.retries += tries - 1
                $0.busyTime += busy
            }
            return value
        } catch {
            count(error)
            throw error
        }
    }

    func read<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R {
        do throws(StoreError) {
            let value = try await workers.run { worker throws(StoreError) in try worker.read(body) }
            counts.withLock { $0.reads += 1 }
            return value
        } catch {
            count(error)
            throw error
        }
    }

    private func count(_ error: StoreError) {
        switch error.code {
        case .conflict, .notFound: break
        default: counts.withLock { $0.failures += 1 }
        }
    }

    var statistics: StoreStatistics {
        var statistics = counts.withLock { $0 }
        statistics.pending = workers.depth
        return statistics
    }

    func close() async { await workers.close { $0.close() } }
}

/// A worker with a connection, which is opened when needed, on the worker's thread.
final class PostgreSQLWorker: Sendable {
    private static let begin = SQLStatement("BEGIN ISOLATION LEVEL READ COMMITTED")
    private static let beginSerializable = SQLStatement("BEGIN ISOLATION LEVEL SERIALIZABLE")
    private static let commit = SQLStatement("COMMIT")
    private static let rollback = SQLStatement("ROLLBACK")
    /// How often a transaction is tried in case of conflicts.
    private static let mostTries = 24

    private let configuration: PostgreSQLStore.Configuration
    private let preparation: StatementPreparation
    /// Locked while it works, without contention, because a worker does one job at a time.
    private let opened = Mutex<PostgreSQLConnection?>(nil)

    init(_ configuration: PostgreSQLStore.Configuration, _ preparation: StatementPreparation) {
        self.configuration = configuration
        self.preparation = preparation
    }

    private var deadline: DispatchTime { .now() + .milliseconds(Int(configuration.timeout.milliseconds)) }

    /// - Returns: the body's result, the number of tries, and the time taken.
    func write<R: Sendable>(
        _ isolation: SQLIsolation,
        _ body: @Sendable (any SQLConnection) throws -> R
    ) throws(StoreError) -> (R, Int, Duration) {
        let start = DispatchTime.now()
        let result: Result<(R, Int, Duration), StoreError> = opened.withLock { opened in
            do {
                var tries = 0
                while true {
                    tries += 1
                    do {
                        let value = try once(isolation, body, &opened, isFresh: tries > 1)
                        let time = DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds
                        return .success((value, tries, .nanoseconds(Int64(time))))
                    } catch let failure as PostgreSQLFailure
                        where failure.isWorthRetrying && tries < Self.mostTries
                    {
                        try letOthersPass(tries)
                    } catch let failure as PostgreSQLFailure
                        where failure.isFromPooler && tries < Self.mostTries
                    {
                        // The server refused the transaction, so nothing of it is committed.
                        preparation.found(failure)
                    } catch is StaleConnection where tries < Self.mostTries {
                        // The connection was lost while unused, before anything was to be committed.
                    }
                }
            } catch {
                return .failure(PostgreSQLFailure.storeError(error))
            }
        }
        return try result.get()
    }

    /// The connection existed before this job, and was lost before a commit was sent.
    private struct StaleConnection: Error {}

    private func once<R>(
        _ isolation: SQLIsolation,
        _ body: (any SQLConnection) throws -> R,
        _ opened: inout PostgreSQLConnection?,
        isFresh: Bool
    ) throws -> R {
        let wasOpen = opened != nil && !isFresh
        let connection = try open(&opened)
        // Statements sent together without BEGIN form a transaction.
        var isCommitting = isolation == .singleCall
        do {
            switch isolation {
            case .serializable: try connection.execute(Self.beginSerializable)
            case .eachStatement: try connection.execute(Self.begin)
            case .singleCall: return try body(connection)
            }
            let value = try body(connection)
            try connection.execute(Self.commit)
            isCommitting = true
            try connection.finish()
            return value
        } catch let failure as PostgreSQLFailure where failure.endsConnection {
            opened = nil
            if wasOpen, !isCommitting { throw StaleConnection() }
            throw failure
        } catch {
            if connection.isOutsideTransaction { throw error }
            do {
                try connection.execute(Self.rollback)
                try connection.finish()
            } catch {
                opened = nil
            }
            throw error
        }
    }

    func read<R: Sendable>(_ body: @Sendable (any SQLConnection) throws -> R) throws(StoreError) -> R {
        let result: Result<R, StoreError> = opened.withLock { opened in
            do {
                let wasOpen = opened != nil
                do {
                    return .success(try body(try open(&opened)))
                } catch let failure as PostgreSQLFailure where failure.isFromPooler {
                    preparation.found(failure)
                    return .success(try body(try open(&opened)))
                } catch let failure as PostgreSQLFailure where failure.endsConnection && wasOpen {
                    opened = nil
                    return .success(try body(try open(&opened)))
                }
            } catch {
                if (error as? PostgreSQLFailure)?.endsConnection ?? true { opened = nil }
                return .failure(PostgreSQLFailure.storeError(error))
            }
        }
        return try result.get()
    }

    /// Ends the connection; the next job would open another.
    func close() { opened.withLock { $0 = nil } }

    func checkSchema() throws(StoreError) {
        try read { connection in
            do {
                try Schema.check(try PostgreSQLSchema.found(connection))
            } catch let failure as PostgreSQLFailure where failure.state == "42P01" {
                try Schema.check(nil)
            }
        }
    }

    private func open(_ opened: inout PostgreSQLConnection?) throws -> PostgreSQLConnection {
        if let connection = opened, !connection.isStale {
            connection.deadline = deadline
            return connection
        }
        opened = nil
        let connection = try PostgreSQLConnection(configuration.conninfo, preparation, deadline: deadline)
        let timeout = configuration.timeout.milliseconds
        // The server also times out by itself, even if the client has disconnected.
        try connection.run(once: "SET statement_timeout = \(timeout)")
        try connection.run(once: "SET idle_in_transaction_session_timeout = \(timeout)")
        try connection.run(once: "SET client_encoding = 'UTF8'")
        // A statement's plan is kept for as long as the connection. One that is made while a table is almost empty would read
        // all of it, and with ten thousand rows a login then takes three times as long. Every statement finds its rows by a key.
        try connection.run(once: "SET enable_seqscan = off")
        opened = connection
        return connection
    }

    /// Waits for a random part of a growing time, so that conflicting transactions do not meet again.
    private func letOthersPass(_ tries: Int) throws {
        guard tries > 1 else { return }
        poll(nil, 0, CInt.random(in: 0...(1 << min(tries, 6))))
    }
}
