import SecretMemory

/// Ends a request from another thread.
///
/// A request that was given a cancellation fails once ``cancel()`` was called: at once when it was not yet sent,
/// and otherwise when the daemon has taken its prompt away. Calling it twice, or after the request's end, does
/// nothing.
public final class Cancellation: Sendable {
    private struct State {
        var isCancelled = false
        var requests: [(connection: Connection, id: UInt64)] = []
    }

    private let state = Guarded(State())

    /// Ends nothing yet.
    public init() {}

    /// Whether ``cancel()`` was called.
    public var isCancelled: Bool { state.withLock(\.isCancelled) }

    /// Ends the requests that were given this, and those that will be.
    public func cancel() {
        let requests = state.withLock { state in
            state.isCancelled = true
            defer { state.requests = [] }
            return state.requests
        }
        for request in requests { request.connection.cancel(request.id) }
    }

    /// Notes a request that has been sent; one that comes too late is ended here.
    func attach(_ connection: Connection, id: UInt64) {
        let isLate = state.withLock { state in
            if !state.isCancelled { state.requests.append((connection, id)) }
            return state.isCancelled
        }
        if isLate { connection.cancel(id) }
    }

    /// Forgets a request that has ended.
    func detach(_ connection: Connection, id: UInt64) {
        state.withLock { $0.requests.removeAll { $0.connection === connection && $0.id == id } }
    }
}
