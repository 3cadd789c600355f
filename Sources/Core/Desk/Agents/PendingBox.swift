import KeychainModel
import SecretMemory

/// One prompt passed to an agent: its content, its state, and its outcome.
final class PendingBox: Sendable {
    private struct State: ~Copyable {
        var isShown = false
        var isTakenAway = false
        var isOver = false
        /// When it ended; nil before.
        var end: ContinuousClock.Instant?
        /// The outcome, until it is taken.
        var outcome: Result<PromptAnswer, PromptError>?
        /// The task that requested the prompt.
        var asker: CheckedContinuation<Void, Never>?
        /// The agent's open call that is answered when the prompt is to be dismissed.
        var watcher: CheckedContinuation<Void, Never>?
    }

    let number: UInt64
    let prompt: Prompt
    let origin: PromptOrigin
    /// A secret to show; nil for a prompt that asks.
    let secret: SecretBytes?
    private let whenShown: @Sendable (() -> PromptChannel?) -> Void
    /// When it was requested.
    let beginning = ContinuousClock.now
    private let state = Guarded(State())

    init(
        number: UInt64,
        prompt: Prompt,
        origin: PromptOrigin,
        secret: consuming SecretBytes? = nil,
        whenShown: @escaping @Sendable (() -> PromptChannel?) -> Void = { _ in }
    ) {
        self.number = number
        self.prompt = prompt
        self.origin = origin
        self.secret = secret
        self.whenShown = whenShown
    }

    /// The prompt as it is sent to the agent.
    func message() -> AgentBox {
        switch secret {
        case .some(let secret):
            AgentBox(number: number, prompt: prompt, origin: origin, secret: secret.copy())
        case .none:
            AgentBox(number: number, prompt: prompt, origin: origin, secret: nil)
        }
    }

    // MARK: How far it is

    /// Whether it is or was visible.
    var isShown: Bool { state.withLock { $0.isShown } }
    /// Whether it has ended.
    var isOver: Bool { state.withLock { $0.isOver } }
    /// When it ended; nil before.
    var end: ContinuousClock.Instant? { state.withLock { $0.end } }

    /// Records that it is visible on a channel, nil if it is undetermined; the requester is told once.
    ///
    /// - Returns: false if it has ended or is to be dismissed.
    func noteShown(on channel: PromptChannel?) -> Bool {
        let (isFirst, isWanted) = state.withLock { state in
            defer { state.isShown = true }
            return (!state.isShown, !state.isOver && !state.isTakenAway)
        }
        guard isWanted else { return false }
        if isFirst { whenShown { channel } }
        return true
    }

    /// Whether an outcome is possible: an answer needs a visible prompt with a matching control.
    func takes(_ outcome: borrowing AgentAnswer.Outcome) -> Bool {
        switch outcome {
        case .failed: true
        case .answered(let answer): isShown && takes(answer)
        }
    }

    private func takes(_ answer: borrowing PromptAnswer) -> Bool {
        let isAsking = secret == nil
        return switch answer {
        case .cancelled: true
        case .timedOut: true
        case .entered: isAsking && prompt.input.takesSecret
        case .confirmed: !isAsking || prompt.input == .confirmation
        case .fallback: isAsking && prompt.input == .touch
        }
    }

    /// Ends the prompt; only the first end counts.
    ///
    /// - Returns: whether this was the first end.
    @discardableResult
    func end(_ result: consuming sending Result<PromptAnswer, PromptError>) -> Bool {
        var result: Result<PromptAnswer, PromptError>? = result
        let (asker, watcher, isFirst) = state.withLock { state in
            guard !state.isOver else { return (nil, nil, false) as Waiters }
            state.isOver = true
            state.end = .now
            state.outcome = result.take()
            defer { (state.asker, state.watcher) = (nil, nil) }
            return (state.asker, state.watcher, true)
        }
        asker?.resume()
        watcher?.resume()
        return isFirst
    }

    private typealias Waiters = (CheckedContinuation<Void, Never>?, CheckedContinuation<Void, Never>?, Bool)

    /// Asks the agent to dismiss the prompt; it ends when the agent reports so.
    func takeAway() {
        let watcher = state.withLock { state in
            state.isTakenAway = true
            return state.watcher.take()
        }
        watcher?.resume()
    }

    // MARK: Waiting

    /// Waits for the end of the prompt; only one task may wait.
    func waitForEnd() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.asker = continuation }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// The outcome; call it once, after ``waitForEnd()``.
    func takeOutcome() throws(PromptError) -> PromptAnswer {
        guard let outcome = state.withLock({ $0.outcome.take() }) else {
            throw PromptError(.prompterFailed, detail: "no answer")
        }
        return try outcome.get()
    }

    /// Waits until the prompt has ended or is to be dismissed, or the task is cancelled; a second call ends the first.
    func waitForTakeaway() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let former = state.withLock { state -> CheckedContinuation<Void, Never>? in
                    if state.isOver || state.isTakenAway || Task.isCancelled { return continuation }
                    defer { state.watcher = continuation }
                    return state.watcher
                }
                former?.resume()
            }
        } onCancel: {
            state.withLock { $0.watcher.take() }?.resume()
        }
    }
}

extension Prompt.Input {
    /// Whether the prompt has an entry field.
    fileprivate var takesSecret: Bool {
        switch self {
        case .secret, .newSecret, .touchOrSecret: true
        case .confirmation, .touch: false
        }
    }
}
