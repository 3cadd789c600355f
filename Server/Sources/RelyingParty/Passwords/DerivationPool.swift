internal import Dispatch
internal import Synchronization

/// Runs derivations of passwords: as many at a time as there are processors, a bounded number waiting, none on Swift's
/// own pool, which they would block.
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
    private let queue = DispatchQueue(label: "password derivation", attributes: .concurrent)

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
                next()
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
            case true?: queue.async(execute: job)
            case false?: break
            case nil: continuation.resume(throwing: Overloaded(retryAfter: .seconds(1)))
            }
        }
    }

    private func next() {
        let job = state.withLock { state -> (@Sendable () -> Void)? in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        if let job { queue.async(execute: job) }
    }
}
