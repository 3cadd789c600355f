import SecretMemory

/// Cancels a request from another thread.
///
/// After ``cancel()``, a request with this cancellation fails: at once if it has not been sent yet, otherwise
/// when the daemon has removed its prompt. Calling it again, or after the request's end, has no effect.
public final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var requests: [(connection: Connection, id: UInt64)] = []
    }

    private let state = Guarded(State())

    /// Makes a cancellation that is not cancelled.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Cancels the requests with this cancellation, and later ones.
    public func cancel() {
        let requests = state.withLock { state in
            state.isCancelled = true
            defer { state.requests = [] }
            return state.requests
        }
        for request in requests { request.connection.cancel(request.id) }
    }

    /// Adds a request that was sent; cancels it if ``cancel()`` was already called.
    func attach(_ connection: Connection, id: UInt64) {
        let isLate = state.withLock { state in
            if !state.isCancelled { state.requests.append((connection, id)) }
            return state.isCancelled
        }
        if isLate { connection.cancel(id) }
    }

    /// Removes a request that has ended.
    func detach(_ connection: Connection, id: UInt64) {
        state.withLock { $0.requests.removeAll { $0.connection === connection && $0.id == id } }
    }
}
