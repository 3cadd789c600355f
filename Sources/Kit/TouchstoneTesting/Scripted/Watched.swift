import SecretMemory

/// A state that tests and scripted peers change and wait on, without sleeping.
final class Watched<State: Sendable>: Sendable {
    private struct Inner {
        var state: State
        var waiters: [@Sendable (inout State) -> Bool] = []
    }

    private let inner: Guarded<Inner>

    init(_ state: State) {
        inner = Guarded(Inner(state: state))
    }

    /// Changes the state, then resumes the waiters whose condition it now meets.
    func update<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        inner.withLock { inner in
            let result = body(&inner.state)
            // A resumed waiter may change the state for the next one.
            while let index = inner.waiters.firstIndex(where: { $0(&inner.state) }) {
                inner.waiters.remove(at: index)
            }
            return result
        }
    }

    /// Waits until `pick` returns a value for the state; it may also change the state.
    func wait<Result: Sendable>(for pick: @escaping @Sendable (inout State) -> Result?) async -> Result {
        await withCheckedContinuation { continuation in
            let waiter: @Sendable (inout State) -> Bool = { state in
                guard let result = pick(&state) else { return false }
                continuation.resume(returning: result)
                return true
            }
            inner.withLock { inner in
                if !waiter(&inner.state) { inner.waiters.append(waiter) }
            }
        }
    }
}
