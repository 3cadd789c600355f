import Foundation
import KeychainClient
import KeychainModel
import Synchronization

/// One evaluation under way: its end is told exactly once, whoever comes first.
final class Evaluation: Sendable {
    typealias Reply = @Sendable (Bool, (any Error)?) -> Void

    /// Where replies arrive, and where threads wait for the daemon.
    static let queue = DispatchQueue(label: "LocalAuthentication", attributes: .concurrent)
    /// Where evaluations are ended: of another class, so that its threads are there when all others wait.
    static let endings = DispatchQueue(
        label: "LocalAuthentication.endings",
        qos: .userInitiated,
        attributes: .concurrent
    )

    /// Takes the prompt away.
    let cancellation = Cancellation()
    private let reply: Mutex<Reply?>

    init(reply: @escaping Reply) { self.reply = Mutex(reply) }

    /// Tells the end; does nothing when it was told before.
    func finish(_ error: LAError?) {
        let reply = reply.withLock { $0.take() }
        reply?(error == nil, error)
    }

    /// Ends the evaluation on the app's wish: the reply comes at once, the prompt goes.
    func end() {
        Self.endings.async {
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

    private let state = Mutex(State())

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
