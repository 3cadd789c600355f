import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// An evaluation in progress: calls its reply exactly once, whichever end comes first.
final class Evaluation: Sendable {
    typealias Reply = @Sendable (Bool, (any Error)?) -> Void

    /// The queue for short requests to the daemon and for ending evaluations.
    private static let queue = DispatchQueue(label: "LocalAuthentication", attributes: .concurrent)

    /// Cancels the request and removes the prompt.
    let cancellation = Cancellation()
    private let reply: Guarded<Reply?>

    init(reply: @escaping Reply) { self.reply = Guarded(reply) }

    /// Runs `body`, which waits for the user, on a thread of its own: dispatch queues have few threads and are slow to add more.
    ///
    /// What the app does in its reply uses the caller's keychain.
    static func start(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread(KeychainConnection.keeping(body))
    }

    /// Runs a short `body`, and the app's handler in it, on the queue with the caller's keychain.
    static func later(_ body: @escaping @Sendable () -> Void) {
        queue.async(execute: KeychainConnection.keeping(body))
    }

    /// Calls the reply, unless it was called before.
    func finish(_ error: LAError?) {
        let reply = reply.withLock { $0.take() }
        reply?(error == nil, error)
    }

    /// Ends the evaluation for the app: calls the reply at once and removes the prompt.
    func end() {
        Self.later {
            self.finish(LAError(AuthenticationError(.appCancel)))
            self.cancellation.cancel()
        }
    }
}

/// Passes the evaluation that a callback method starts to the async method that called it.
final class EvaluationHolder: Sendable {
    /// The holder of the enclosing async call.
    @TaskLocal static var ofCaller: EvaluationHolder?

    private struct State {
        var evaluation: Evaluation?
        var isCancelled = false
    }

    private let state = Guarded(State())

    /// Stores an evaluation; ends it at once if the task was cancelled before.
    func hold(_ evaluation: Evaluation) {
        let isCancelled = state.withLock { state in
            state.evaluation = evaluation
            return state.isCancelled
        }
        if isCancelled { evaluation.end() }
    }

    /// Ends the evaluation, because the task was cancelled.
    func cancel() {
        let evaluation = state.withLock { state in
            state.isCancelled = true
            return state.evaluation
        }
        evaluation?.end()
    }
}
