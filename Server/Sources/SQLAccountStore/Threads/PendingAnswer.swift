package import AccountStore
internal import Dispatch
internal import Synchronization

/// A caller that waits for an answer: gets exactly one, from the working thread or at the deadline.
package final class PendingAnswer<Value: Sendable>: Expirable, Sendable {
    private let continuation: Mutex<CheckedContinuation<Result<Value, StoreError>, Never>?>

    init(_ continuation: CheckedContinuation<Result<Value, StoreError>, Never>) {
        self.continuation = Mutex(continuation)
    }

    /// Whether the caller has its answer.
    package var isOver: Bool { continuation.withLock { $0 == nil } }

    /// Gives the answer, unless one was given before.
    package func give(_ answer: Result<Value, StoreError>) {
        continuation.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }?.resume(returning: answer)
    }

    func expire() {
        give(.failure(StoreError(.unavailable, cause: "no answer in time; it may have happened")))
    }
}

/// An operation that can time out.
protocol Expirable: AnyObject, Sendable {
    var isOver: Bool { get }
    func expire()
}

/// Ensures that every caller gets an answer in time, even if the working thread hangs in a system call.
package final class Deadlines: Sendable {
    private struct State {
        /// Ordered by deadline, because all have the same timeout.
        var waiting: [(any Expirable, DispatchTime)] = []
        var isWatching = false
    }

    private let state = Mutex(State())
    private let timeout: DispatchTimeInterval
    private let interval: DispatchTimeInterval

    /// Creates deadlines with one timeout for all.
    package init(_ timeout: Duration) {
        self.timeout = .milliseconds(Int(timeout.milliseconds))
        interval = .milliseconds(max(Int(timeout.milliseconds) / 10, 10))
    }

    /// Starts an operation, and waits for its answer until the timeout.
    package func ask<Value: Sendable>(
        _ begin: (PendingAnswer<Value>) -> Void
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            let answer = PendingAnswer(continuation)
            watch(answer)
            begin(answer)
        }
        return try result.get()
    }

    private func watch(_ answer: any Expirable) {
        let starts = state.withLock { state in
            state.waiting.append((answer, .now() + timeout))
            defer { state.isWatching = true }
            return !state.isWatching
        }
        if starts { schedule() }
    }

    private func schedule() {
        DispatchQueue.global().asyncAfter(deadline: .now() + interval) { [self] in look() }
    }

    private func look() {
        let now = DispatchTime.now()
        let (late, goesOn) = state.withLock { state in
            state.waiting.removeAll { $0.0.isOver }
            let late = state.waiting.prefix { $0.1 <= now }
            state.waiting.removeFirst(late.count)
            state.isWatching = !state.waiting.isEmpty
            return (late.map(\.0), state.isWatching)
        }
        for answer in late { answer.expire() }
        if goesOn { schedule() }
    }
}
