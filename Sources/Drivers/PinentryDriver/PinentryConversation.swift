import KeychainModel
import SecretMemory
import Threads

/// A conversation on a thread of its own, which ends with it.
final class PinentryConversation: Sendable {
    /// What is said in it.
    typealias Talk = @Sendable (inout PinentryExchange) throws(PromptError) -> PromptAnswer

    private enum Wait: Sendable {
        case nobody
        case waiting(CheckedContinuation<Void, Never>)
        case over
    }

    private let cancelSignal: ThreadSignal
    private let outcome = Outcome()
    private let wait = Guarded(Wait.nobody)

    /// Starts the thread; `body` may wait for the signal besides its own events, and then has to end.
    init(_ body: @escaping @Sendable (ThreadSignal) throws(PromptError) -> PromptAnswer) throws(PromptError) {
        let cancel = try ThreadSignal()
        cancelSignal = cancel
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

    /// Waits for its end, which cancelling the task brings; called once.
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

    /// Ends it; what it led to is nobody's then.
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
