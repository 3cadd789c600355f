internal import AccountStore
internal import Dispatch
internal import Foundation
internal import SQLAccountStore
internal import Synchronization

/// One writer that commits for many operations, and concurrent readers.
final class SQLiteEngine: SQLEngine {
    private let configuration: SQLiteStore.Configuration
    private let deadlines: Deadlines
    private let writer: GroupCommitter
    private let readers: WorkerPool<SQLiteReader>
    private let readCount = Mutex((reads: 0, failures: 0))

    init(_ configuration: SQLiteStore.Configuration) throws(StoreError) {
        self.configuration = configuration
        deadlines = Deadlines(configuration.timeout)
        writer = try GroupCommitter(configuration)
        let generation = writer.generation
        readers = WorkerPool(
            (0..<max(configuration.readerCount, 1)).map { _ in SQLiteReader(configuration, generation) },
            label: "touchstone.accounts reader",
            deadlines: deadlines,
            waiting: configuration.mostWaiting
        )
    }

    func write<R: Sendable>(
        _ isolation: SQLIsolation,
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R {
        try await deadlines.ask { answer in writer.add(GroupJob(answer, body)) }
    }

    func read<R: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> R
    ) async throws(StoreError) -> R {
        do throws(StoreError) {
            let value = try await readers.run { reader throws(StoreError) in try reader.run(body) }
            readCount.withLock { $0.reads += 1 }
            return value
        } catch {
            readCount.withLock { $0.failures += 1 }
            throw error
        }
    }

    var statistics: StoreStatistics {
        var statistics = writer.statistics
        let reads = readCount.withLock { $0 }
        statistics.reads = reads.reads
        statistics.failures += reads.failures
        statistics.pending += readers.depth
        return statistics
    }

    func close() async {
        await readers.close()
        await writer.close()
    }
}

/// The current generation of the opened file: it changes when another file takes its place.
final class FileGeneration: Sendable {
    private let number = Atomic<Int>(0)

    var current: Int { number.load(ordering: .acquiring) }

    func advance() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

/// A worker with a reading connection, on the worker's thread.
final class SQLiteReader: Sendable {
    private static let begin = SQLStatement("BEGIN DEFERRED")
    private static let end = SQLStatement("COMMIT")

    private struct Opened {
        let connection: SQLiteConnection
        let generation: Int
    }

    private let configuration: SQLiteStore.Configuration
    private let generation: FileGeneration
    /// Locked while it reads, without contention, because a worker does one job at a time.
    private let opened = Mutex<Opened?>(nil)

    init(_ configuration: SQLiteStore.Configuration, _ generation: FileGeneration) {
        self.configuration = configuration
        self.generation = generation
    }

    func run<R: Sendable>(_ body: @Sendable (any SQLConnection) throws -> R) throws(StoreError) -> R {
        let result: Result<R, StoreError> = opened.withLock { opened in
            do {
                let current = generation.current
                if opened?.generation != current {
                    opened = nil
                    guard access(configuration.path, F_OK) == 0 else {
                        throw StoreError(.unavailable, cause: "no file \(configuration.path)")
                    }
                    let connection = try SQLiteConnection(
                        configuration.path,
                        .touchstone(configuration, readonly: true)
                    )
                    opened = Opened(connection: connection, generation: current)
                }
                guard let connection = opened?.connection else { throw StoreError(.unavailable) }
                // One snapshot of the database for all statements.
                try connection.execute(Self.begin)
                defer { if !connection.isOutsideTransaction { try? connection.execute(Self.end) } }
                return .success(try body(connection))
            } catch {
                let error = SQLiteFailure.storeError(error)
                if error.code == .unavailable || error.code == .damaged { opened = nil }
                return .failure(error)
            }
        }
        return try result.get()
    }
}
