internal import Synchronization

/// The ports of a server, once it listens on both.
public final class ListeningPorts: Sendable {
    private struct State {
        var api: Int?
        var admin: Int?
        var lastTicket = 0
        var waiting: [Int: CheckedContinuation<(api: Int, admin: Int)?, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Whether the server listens on both.
    public var areSet: Bool { state.withLock { $0.api != nil && $0.admin != nil } }

    func set(api: Int? = nil, admin: Int? = nil) {
        let waiting = state.withLock { state in
            state.api = api ?? state.api
            state.admin = admin ?? state.admin
            guard let api = state.api, let admin = state.admin else {
                return (ports: nil, calls: []) as Waiting
            }
            defer { state.waiting = [:] }
            return ((api, admin), Array(state.waiting.values))
        }
        for continuation in waiting.calls { continuation.resume(returning: waiting.ports) }
    }

    private typealias Waiting = (
        ports: (api: Int, admin: Int)?, calls: [CheckedContinuation<(api: Int, admin: Int)?, Never>]
    )

    /// Waits until the server listens on both.
    ///
    /// - Returns: nil if the task was cancelled first.
    public func both() async -> (api: Int, admin: Int)? {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> (api: Int, admin: Int)?? in
                    if let api = state.api, let admin = state.admin { return (api, admin) }
                    // Within the lock: a cancellation after this look finds the continuation.
                    if Task.isCancelled { return .some(nil) }
                    state.waiting[ticket] = continuation
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?.resume(returning: nil)
        }
    }
}
