import Foundation
import Synchronization

/// Runs code on dedicated threads and waits for all of them.
enum Threads {
    /// Runs `body` once on each of `count` threads, which start together.
    ///
    /// - Returns: the time from the common start to the last end.
    /// - Throws: the first error of any thread.
    static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws -> Nanoseconds {
        let failure = Mutex<(any Error)?>(nil)
        let shared = Shared(failure: failure)
        for number in 0..<count {
            Thread.detachNewThread {
                shared.ready.signal()
                shared.start.wait()
                do {
                    try body(number)
                } catch {
                    shared.failure.withLock { $0 = $0 ?? error }
                }
                shared.done.signal()
            }
        }
        for _ in 0..<count { shared.ready.wait() }
        let time = Stopwatch.time {
            for _ in 0..<count { shared.start.signal() }
            for _ in 0..<count { shared.done.wait() }
        }
        if let error = shared.failure.withLock({ $0 }) { throw error }
        return time
    }

    private final class Shared: Sendable {
        let ready = DispatchSemaphore(value: 0)
        let start = DispatchSemaphore(value: 0)
        let done = DispatchSemaphore(value: 0)
        let failure: Mutex<(any Error)?>

        init(failure: consuming Mutex<(any Error)?>) { self.failure = failure }
    }
}

/// A call on a dedicated thread, whose end can be awaited.
final class BackgroundCall: Sendable {
    private let done = DispatchSemaphore(value: 0)
    private let outcome = Mutex<Result<Nanoseconds, any Error>?>(nil)

    /// Starts the call at once.
    init(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread { [self] in
            let result = Result {
                try body()
                return Stopwatch.now()
            }
            outcome.withLock { $0 = result }
            done.signal()
        }
    }

    /// Whether the call has returned.
    var hasEnded: Bool { outcome.withLock { $0 != nil } }

    /// Waits until the call has returned.
    ///
    /// - Returns: the moment when the call returned.
    func end() throws -> Nanoseconds {
        done.wait()
        guard let result = outcome.withLock({ $0 }) else { return Stopwatch.now() }
        return try result.get()
    }
}
