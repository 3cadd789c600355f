import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// One evaluation under way: its end is told exactly once, whoever comes first.
final class Evaluation: Sendable {
    typealias Reply = @Sendable (Bool, (any Error)?) -> Void

    /// Where short questions to the daemon are asked, and where evaluations are ended.
    static let queue = DispatchQueue(label: "LocalAuthentication", attributes: .concurrent)

    /// Takes the prompt away.
    let cancellation = Cancellation()
    private let reply: Guarded<Reply?>

    init(reply: @escaping Reply) { self.reply = Guarded(reply) }

    /// Runs `body`, which waits for a person, on a thread of its own: queues have few, and are slow to add more.
    static func start(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread(body) }

    /// Tells the end; does nothing when it was told before.
    func finish(_ error: LAError?) {
        let reply = reply.withLock { $0.take() }
        reply?(error == nil, error)
    }

    /// Ends the evaluation on the app's wish: the reply comes at once, the prompt goes.
    func end() {
        Self.queue.async {
            self.finish(LAError(AuthenticationError(.appCancel)))
            self.cancellation.cancel()
        }
    }
}

/// Hands the evaluation that a callback form starts to the async form that called it.
final class EvaluationHolder: Sendable {
    /// The holder of the async form in whose call we are.
    @TaskLocal static var ofCaller: EvaluationHolder?

    private struct State {
        var evaluation: Evaluation?
        var isCancelled = false
    }

    private let state = Guarded(State())

    /// Keeps an evaluation; one whose task was cancelled before is ended.
    func hold(_ evaluation: Evaluation) {
        let isCancelled = state.withLock { state in
            state.evaluation = evaluation
            return state.isCancelled
        }
        if isCancelled { evaluation.end() }
    }

    /// Ends the evaluation: the task was cancelled.
    func cancel() {
        let evaluation = state.withLock { state in
            state.isCancelled = true
            return state.evaluation
        }
        evaluation?.end()
    }
}
