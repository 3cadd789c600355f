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
        /// The agent's open call that is answered when the agent is to confirm that it still shows the prompt.
        var check: CheckedContinuation<Void, Never>?
        /// Whether the agent is to confirm, and who waits for it.
        var isToConfirm = false
        var confirming: CheckedContinuation<Bool, Never>?
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
    /// Whether it is to be dismissed.
    var isTakenAway: Bool { state.withLock { $0.isTakenAway } }
    /// Whether it has ended.
    var isOver: Bool { state.withLock { $0.isOver } }
    /// When it ended; nil before.
    var end: ContinuousClock.Instant? { state.withLock { $0.end } }

    /// Records that it is visible on a channel, nil if it is undetermined; the requester is told once.
    ///
    /// - Returns: false if it has ended or is to be dismissed.
    func noteShown(on channel: PromptChannel?) -> Bool {
        let (isFirst, isWanted, confirming) = state.withLock { state in
            defer { (state.isShown, state.isToConfirm, state.confirming) = (true, false, nil) }
            return (!state.isShown, !state.isOver && !state.isTakenAway, state.confirming)
        }
        confirming?.resume(returning: isWanted)
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
        case .fallback(let index):
            // The default button has the number 0.
            isAsking && prompt.input == .touch && index < prompt.fallbackTitles?.count ?? 1
        }
    }

    /// Ends the prompt; only the first end counts.
    ///
    /// - Returns: whether this was the first end.
    @discardableResult
    func end(_ result: consuming sending Result<PromptAnswer, PromptError>) -> Bool {
        var result: Result<PromptAnswer, PromptError>? = result
        let (waiters, isFirst) = state.withLock { state in
            guard !state.isOver else { return (Waiters(), false) }
            state.isOver = true
            state.end = .now
            state.outcome = result.take()
            let waiters = Waiters(
                calls: [state.asker, state.watcher, state.check],
                confirming: state.confirming
            )
            (state.asker, state.watcher, state.check, state.confirming) = (nil, nil, nil, nil)
            return (waiters, true)
        }
        for call in waiters.calls { call?.resume() }
        waiters.confirming?.resume(returning: false)
        return isFirst
    }

    private struct Waiters {
        var calls: [CheckedContinuation<Void, Never>?] = []
        var confirming: CheckedContinuation<Bool, Never>?
    }

    /// Asks the agent to dismiss the prompt; it ends when the agent reports so.
    func takeAway() {
        let watcher = state.withLock { state in
            state.isTakenAway = true
            return state.watcher.take()
        }
        watcher?.resume()
    }

    // MARK: Confirmation

    /// Asks the agent whether it still shows the prompt, or waits until it does.
    ///
    /// - Returns: whether it confirmed that within `limit`; a stopped process cannot.
    func isConfirmed(within limit: Duration) async -> Bool {
        let expiry = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            state.withLock { $0.confirming.take() }?.resume(returning: false)
        }
        defer { expiry.cancel() }
        return await withCheckedContinuation { continuation in
            let (former, check, isPossible) = state.withLock { state in
                guard !state.isOver, !state.isTakenAway else {
                    return (nil, nil, false) as Confirmation
                }
                let former = state.confirming
                (state.confirming, state.isToConfirm) = (continuation, state.isShown)
                return (former, state.isShown ? state.check.take() : nil, true)
            }
            former?.resume(returning: false)
            check?.resume()
            if !isPossible { continuation.resume(returning: false) }
        }
    }

    private typealias Confirmation = (
        CheckedContinuation<Bool, Never>?, CheckedContinuation<Void, Never>?, Bool
    )

    /// Waits until the agent is to confirm, or until the prompt has ended; a second call ends the first.
    func waitForCheck() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let former = state.withLock { state -> CheckedContinuation<Void, Never>? in
                    if state.isOver || state.isToConfirm || Task.isCancelled {
                        state.isToConfirm = false
                        return continuation
                    }
                    defer { state.check = continuation }
                    return state.check
                }
                former?.resume()
            }
        } onCancel: {
            state.withLock { $0.check.take() }?.resume()
        }
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
