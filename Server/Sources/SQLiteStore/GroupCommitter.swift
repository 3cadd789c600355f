internal import AccountStore
internal import Dispatch
internal import Foundation
internal import SQLAccountStore
internal import Synchronization

/// An operation waiting to be written.
class AnyGroupJob: @unchecked Sendable {  // touched by whoever adds it and then by the writer's thread alone
    /// Whether its caller has timed out.
    var isOver: Bool { true }
    /// Performs its part of the transaction, before the commit.
    func run(_ connection: SQLiteConnection) throws {}
    /// Called when the transaction is durable.
    func succeed() {}
    /// Called when nothing of it happened.
    func fail(_ error: StoreError) {}
}

/// An operation and its waiting caller.
final class GroupJob<Value: Sendable>: AnyGroupJob, @unchecked Sendable {  // as its base class
    private let answer: PendingAnswer<Value>
    private let body: @Sendable (any SQLConnection) throws -> Value
    private var value: Value?

    init(_ answer: PendingAnswer<Value>, _ body: @escaping @Sendable (any SQLConnection) throws -> Value) {
        self.answer = answer
        self.body = body
    }

    override var isOver: Bool { answer.isOver }

    override func run(_ connection: SQLiteConnection) throws { value = try body(connection) }

    override func succeed() {
        if let value { answer.give(.success(value)) }
    }

    override func fail(_ error: StoreError) { answer.give(.failure(error)) }
}

/// The single writer: operations that arrive during a commit go into the next one together.
///
/// A failing operation does not fail the others: it is rolled back alone, or the others run again without it.
final class GroupCommitter: Sendable {
    private static let begin = SQLStatement("BEGIN IMMEDIATE")
    private static let commit = SQLStatement("COMMIT")
    private static let rollback = SQLStatement("ROLLBACK")
    private static let savepoint = SQLStatement("SAVEPOINT part")
    private static let release = SQLStatement("RELEASE part")
    private static let rollbackPart = SQLStatement("ROLLBACK TO part")
    /// The maximum number of operations in one transaction.
    private static let mostTogether = 256

    private struct State {
        var waiting: [AnyGroupJob] = []
        var isWorking = false
        var isClosed = false
        var whenDone: [CheckedContinuation<Void, Never>] = []
        /// How many operations the writer waits for before it begins; nil: it does not wait.
        var awaited: Int?
        var statistics = StoreStatistics()
    }

    /// State that only the writer's thread uses.
    private struct Writer {
        var connection: SQLiteConnection?
        var pace = CommitPace()
        var checkpoints = CheckpointPace()
    }

    let generation = FileGeneration()
    private let configuration: SQLiteStore.Configuration
    private let state = Mutex(State())
    private let arrivals = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "touchstone.accounts writer")
    private let writer: Mutex<Writer>

    init(_ configuration: SQLiteStore.Configuration) throws(StoreError) {
        self.configuration = configuration
        do {
            writer = Mutex(Writer(connection: try Self.open(configuration)))
        } catch {
            throw SQLiteFailure.storeError(error)
        }
    }

    private static func open(_ configuration: SQLiteStore.Configuration) throws -> SQLiteConnection {
        // SQLite would create the file.
        guard access(configuration.path, F_OK) == 0 else {
            throw StoreError(
                errno == ENOENT ? .notMigrated : .unavailable,
                cause: "\(configuration.path): \(String(cString: strerror(errno)))"
            )
        }
        let connection = try SQLiteConnection(configuration.path, .touchstone(configuration))
        try SQLiteSchema.check(connection)
        return connection
    }

    var statistics: StoreStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.pending = state.waiting.count
            return statistics
        }
    }

    func add(_ job: AnyGroupJob) {
        enum Verdict { case added, starts, full, closed }
        let verdict = state.withLock { state -> Verdict in
            if state.isClosed { return .closed }
            guard state.waiting.count < configuration.mostWaiting else { return .full }
            state.waiting.append(job)
            if let awaited = state.awaited, state.waiting.count >= awaited {
                state.awaited = nil
                arrivals.signal()
            }
            defer { state.isWorking = true }
            return state.isWorking ? .added : .starts
        }
        switch verdict {
        case .added: break
        case .starts: queue.async { [self] in work() }
        case .full: job.fail(StoreError(.overloaded, cause: "\(configuration.mostWaiting) writes wait"))
        case .closed: job.fail(StoreError(.unavailable, cause: "the store is closed"))
        }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                state.isClosed = true
                if state.isWorking { state.whenDone.append(continuation) }
                return !state.isWorking
            }
            if isIdle { continuation.resume() }
        }
        writer.withLock { $0.connection = nil }
    }

    // MARK: On the writer's thread

    private func work() {
        writer.withLock { writer in
            while true {
                let jobs = next(&writer.pace)
                if jobs.isEmpty { return }
                let start = DispatchTime.now()
                let (done, error) = write(jobs, &writer.connection)
                let busy = Duration.nanoseconds(
                    Int64(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds)
                )
                writer.pace.committed(jobs.count, in: busy)
                state.withLock { state in
                    state.statistics.writes += done.count
                    state.statistics.commits += done.isEmpty ? 0 : 1
                    state.statistics.failures += error == nil ? 0 : jobs.count
                    state.statistics.busyTime += busy
                }
                for job in done { job.succeed() }
                if let error { for job in jobs { job.fail(error) } }
                checkpoint(&writer)
            }
        }
    }

    /// Copies the write-ahead log into the database if it is time.
    private func checkpoint(_ writer: inout Writer) {
        guard let connection = writer.connection else { return }
        let count = connection.logPageCount
        writer.checkpoints.committed(count)
        guard writer.checkpoints.isDue(count) else { return }
        let start = ContinuousClock.now
        // If it fails, so will the next operations, with the cause.
        try? connection.checkpoint()
        writer.checkpoints.copied(count, in: ContinuousClock.now - start)
    }

    /// The operations for the next transaction; empty: there are none, and the work is done.
    private func next(_ pace: inout CommitPace) -> [AnyGroupJob] {
        let wait = state.withLock { state -> DispatchTimeInterval? in
            guard let (count, time) = pace.wait(having: state.waiting.count) else { return nil }
            state.awaited = count
            return time
        }
        if let wait, arrivals.wait(timeout: .now() + wait) == .timedOut {
            let missed = state.withLock { state in
                defer { state.awaited = nil }
                return state.awaited != nil
            }
            // It arrived at the same moment.
            if !missed { arrivals.wait() }
            pace.waited(inVain: missed)
        }
        let (jobs, awaited) = state.withLock { state -> ([AnyGroupJob], [CheckedContinuation<Void, Never>]) in
            if state.waiting.isEmpty {
                state.isWorking = false
                defer { state.whenDone = [] }
                return ([], state.whenDone)
            }
            if state.waiting.count <= Self.mostTogether {
                defer { state.waiting = [] }
                return (state.waiting, [])
            }
            let jobs = Array(state.waiting.prefix(Self.mostTogether))
            state.waiting.removeFirst(jobs.count)
            return (jobs, [])
        }
        for continuation in awaited { continuation.resume() }
        return jobs
    }

    /// - Returns: the operations that are now durable; or why none of them is.
    private func write(
        _ jobs: [AnyGroupJob],
        _ opened: inout SQLiteConnection?
    ) -> (done: [AnyGroupJob], error: StoreError?) {
        // A caller that timed out was told of a failure: its operation must not happen.
        let jobs = jobs.filter { !$0.isOver }
        guard !jobs.isEmpty else { return ([], nil) }
        do {
            let connection = try current(&opened)
            // Savepoints cost a copy of each page, and are rarely needed.
            return (
                try write(jobs, together: true, connection) ?? write(jobs, together: false, connection) ?? [],
                nil
            )
        } catch {
            let error = SQLiteFailure.storeError(error)
            if error.code == .unavailable || error.code == .damaged { opened = nil }
            return ([], error)
        }
    }

    /// Runs operations and commits them; if they run `together`, without a savepoint each, which works as long as none
    /// fails after it wrote.
    ///
    /// Returns the operations that are now durable; nil: nothing happened, because one failed that cannot be rolled
    /// back alone.
    private func write(_ jobs: [AnyGroupJob], together: Bool, _ connection: SQLiteConnection) throws
        -> [AnyGroupJob]?
    {
        var done: [AnyGroupJob] = []
        var failed: [(job: AnyGroupJob, error: StoreError)] = []
        try connection.execute(Self.begin)
        do {
            for job in jobs {
                switch try part(job, hasSavepoint: !together, connection) {
                case .done: done.append(job)
                case .failed(let error): failed.append((job, error))
                case .failedHalfDone:
                    try connection.execute(Self.rollback)
                    return nil
                }
            }
            try connection.execute(done.isEmpty ? Self.rollback : Self.commit)
        } catch {
            if !connection.isOutsideTransaction { try? connection.execute(Self.rollback) }
            throw error
        }
        for (job, error) in failed { job.fail(error) }
        return done
    }

    private enum Part {
        /// It waits for the commit.
        case done
        /// It failed and left no changes.
        case failed(StoreError)
        /// It failed, and its changes can only be rolled back with all others.
        case failedHalfDone
    }

    /// Runs one operation.
    ///
    /// - Throws: an error that ends all of them.
    private func part(_ job: AnyGroupJob, hasSavepoint: Bool, _ connection: SQLiteConnection) throws -> Part {
        let changes = connection.changeCount
        if hasSavepoint { try connection.execute(Self.savepoint) }
        do {
            try job.run(connection)
        } catch {
            if connection.isOutsideTransaction { throw error }
            if hasSavepoint {
                try connection.execute(Self.rollbackPart)
                try connection.execute(Self.release)
            } else if connection.changeCount != changes {
                return .failedHalfDone
            }
            return .failed(SQLiteFailure.storeError(error))
        }
        if hasSavepoint { try connection.execute(Self.release) }
        return .done
    }

    /// The connection to the file that now has the path.
    private func current(_ opened: inout SQLiteConnection?) throws -> SQLiteConnection {
        if let connection = opened, !connection.hasMoved { return connection }
        opened = nil
        generation.advance()
        do {
            let connection = try Self.open(configuration)
            opened = connection
            return connection
        } catch let error as StoreError where error.code == .notMigrated {
            // The file existed when the store was opened.
            throw StoreError(.unavailable, cause: error.cause)
        }
    }
}

/// When to wait a moment for more operations before a commit: if flushes are slow, and the clients just answered are
/// about to send their next operation.
struct CommitPace {
    /// A faster flush than this is not worth waiting for.
    private static let worthwhile = Duration.microseconds(300)
    /// The maximum time to wait.
    private static let most = Duration.milliseconds(2)

    /// The time of a commit, as an average over the last ones.
    private var commitTime = Duration.zero
    /// The number of operations in the last commit.
    private var last = 0
    /// How many commits to skip waiting for, after waiting in vain.
    private var skipped = 0
    private var penalty = 1

    mutating func committed(_ count: Int, in time: Duration) {
        commitTime = (commitTime * 7 + time) / 8
        last = count
    }

    /// How many operations to wait for, and how long; nil: begin at once.
    mutating func wait(having count: Int) -> (Int, DispatchTimeInterval)? {
        guard count > 0, last > 1, commitTime > Self.worthwhile else { return nil }
        guard skipped == 0 else {
            skipped -= 1
            return nil
        }
        let time = min(commitTime / 2, Self.most)
        return (count + last, .microseconds(Int(time.components.attoseconds / 1_000_000_000_000)))
    }

    mutating func waited(inVain: Bool) {
        penalty = inVain ? min(penalty * 2, 64) : 1
        skipped = inVain ? penalty : 0
    }
}
