internal import Synchronization

/// The ports of a server, once it listens on both.
public final class ListeningPorts: Sendable {
    private struct State {
        var api: Int?
        var admin: Int?
        var waiting: [CheckedContinuation<(api: Int, admin: Int), Never>] = []
    }

    private let state = Mutex(State())

    func set(api: Int? = nil, admin: Int? = nil) {
        let (ready, waiting) = state.withLock { state in
            state.api = api ?? state.api
            state.admin = admin ?? state.admin
            guard let api = state.api, let admin = state.admin else {
                return ((api: Int, admin: Int)?.none, [CheckedContinuation<(api: Int, admin: Int), Never>]())
            }
            defer { state.waiting = [] }
            return ((api, admin), state.waiting)
        }
        guard let ready else { return }
        for continuation in waiting { continuation.resume(returning: ready) }
    }

    /// Waits until the server listens on both.
    public func both() async -> (api: Int, admin: Int) {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> (api: Int, admin: Int)? in
                guard let api = state.api, let admin = state.admin else {
                    state.waiting.append(continuation)
                    return nil
                }
                return (api, admin)
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }
}
