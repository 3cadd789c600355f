internal import Foundation
internal import Glibc
internal import Synchronization

/// Runs password derivations: as many at a time as there are processors, with a bounded queue, and not on Swift's pool,
/// which they would block.
///
/// Their threads have a lower priority, so that many passwords use only spare processor time, and hardly slow other
/// requests.
public final class DerivationPool: Sendable {
    /// The queue is full: retry later.
    public struct Overloaded: Error, Sendable {
        /// After how long to retry.
        public let retryAfter: Duration
    }

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let threads: Int
    private let most: Int
    /// The nice value (setpriority(2)), for the thread alone: about a quarter of the time beside a thread with normal
    /// priority.
    private static let niceness: CInt = 5

    /// Creates a pool.
    ///
    /// - Parameters:
    ///   - threads: the maximum number running at a time.
    ///   - waiting: the maximum number waiting beyond those.
    public init(threads: Int, waiting: Int) {
        self.threads = max(threads, 1)
        most = max(waiting, 0)
    }

    /// The number running or waiting, for metrics.
    public var depth: Int { state.withLock { $0.running + $0.waiting.count } }

    /// Runs a derivation.
    ///
    /// - Throws: ``Overloaded`` at once when the queue is full; the error of `body`.
    public func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let job: @Sendable () -> Void = { [self] in
                let result = Result { try body() }
                // Before the caller gets the result, so that ``depth`` no longer includes it.
                state.withLock { $0.running -= 1 }
                continuation.resume(with: result)
            }
            let starts: Bool? = state.withLock { state in
                if state.running < threads {
                    state.running += 1
                    return true
                }
                guard state.waiting.count < most else { return nil }
                state.waiting.append(job)
                return false
            }
            switch starts {
            case true?: start(job)
            case false?: break
            case nil: continuation.resume(throwing: Overloaded(retryAfter: .seconds(1)))
            }
        }
    }

    /// Starts a thread that lasts as long as there is work: creating one costs nothing compared to a derivation.
    private func start(_ first: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [self] in
            setpriority(CInt(PRIO_PROCESS.rawValue), 0, Self.niceness)
            var job: (@Sendable () -> Void)? = first
            while let next = job {
                next()
                job = self.next()
            }
        }
    }

    /// Dequeues the derivation that has waited longest, counting it as running.
    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.running < threads, !state.waiting.isEmpty else { return nil }
            state.running += 1
            return state.waiting.removeFirst()
        }
    }
}
