import KeychainModel
import SecretMemory
import Threads

/// A conversation with a pinentry program on its own thread, which ends with it.
final class PinentryConversation: Sendable {
    /// The body of a conversation.
    typealias Talk = @Sendable (inout PinentryExchange) throws(PromptError) -> PromptAnswer

    private enum Wait: Sendable {
        case nobody
        case waiting(CheckedContinuation<Void, Never>)
        case over
    }

    private let cancelSignal: ThreadSignal
    private let outcome = Outcome()
    private let wait = Guarded(Wait.nobody)

    /// Starts the thread; `body` has to end when the signal is raised.
    init(_ body: @escaping @Sendable (ThreadSignal) throws(PromptError) -> PromptAnswer) throws(PromptError) {
        let cancel = try ThreadSignal()
        cancelSignal = cancel
        // Not only in ``answer()``, which the thread may be ahead of.
        if Task.isCancelled { cancel.raise() }
        let failure = BlockingThread.start { [self] in
            outcome.set { () throws(PromptError) in
                if cancel.isRaised { throw PromptError(.dismissed) }
                return try body(cancel)
            }
            end()
        }
        guard failure != 0 else { return }
        throw PromptError(.prompterFailed, detail: "no thread: \(SystemError.name(of: failure))")
    }

    /// Waits once for the conversation to end; cancelling the task ends it.
    func answer() async throws(PromptError) -> PromptAnswer {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = wait.withLock { wait in
                    if case .over = wait { return true }
                    wait = .waiting(continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            cancel()
        }
        return try outcome.take()
    }

    /// Ends the conversation; its result is discarded.
    func cancel() { cancelSignal.raise() }

    private func end() {
        let last = wait.withLock { wait in
            defer { wait = .over }
            return wait
        }
        if case .waiting(let continuation) = last { continuation.resume() }
    }
}

/// Carries an answer, which cannot be copied, from the thread to the task.
private final class Outcome: Sendable {
    private let result = Guarded<Result<PromptAnswer, PromptError>?>(nil)

    func set(_ body: () throws(PromptError) -> PromptAnswer) {
        do {
            let answer = Result<PromptAnswer, PromptError>.success(try body())
            put(answer)
        } catch {
            put(.failure(error))
        }
    }

    /// Takes the answer; called once, after it was set.
    func take() throws(PromptError) -> PromptAnswer {
        guard let value = result.withLock({ $0.take() }) else {
            throw PromptError(.prompterFailed, detail: "no answer")
        }
        return try value.get()
    }

    private func put(_ value: consuming sending Result<PromptAnswer, PromptError>) {
        var value: Result<PromptAnswer, PromptError>? = value
        result.withLock { $0 = value.take() }
    }
}
