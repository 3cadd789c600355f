internal import Foundation
internal import Glibc
internal import Synchronization

/// Runs derivations of passwords: as many at a time as there are processors, a bounded number waiting, none on Swift's
/// own pool, which they would block.
///
/// Their threads step back for others, so that a crowd of passwords takes what is left of the processors, and other requests
/// hardly notice.
public final class DerivationPool: Sendable {
    /// The pool is full: try again later.
    public struct Overloaded: Error, Sendable {
        /// After how long it is worth a try.
        public let retryAfter: Duration
    }

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())
    private let threads: Int
    private let most: Int
    /// Of setpriority(2), for the thread alone: about a quarter of the time beside one that has not stepped back.
    private static let niceness: CInt = 5

    /// Makes a pool.
    ///
    /// - Parameters:
    ///   - threads: how many run at a time.
    ///   - waiting: how many wait at most beyond those.
    public init(threads: Int, waiting: Int) {
        self.threads = max(threads, 1)
        most = max(waiting, 0)
    }

    /// How many run or wait, for metrics.
    public var depth: Int { state.withLock { $0.running + $0.waiting.count } }

    /// Runs a derivation.
    ///
    /// - Throws: ``Overloaded`` at once when too many wait already; what `body` throws.
    public func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let job: @Sendable () -> Void = { [self] in
                let result = Result { try body() }
                // Before anybody hears of the result: what is done does not count any more.
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

    /// A thread that lasts as long as there is work: making one costs nothing beside a derivation.
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

    /// The one that has waited longest, which runs from now on.
    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard state.running < threads, !state.waiting.isEmpty else { return nil }
            state.running += 1
            return state.waiting.removeFirst()
        }
    }
}
