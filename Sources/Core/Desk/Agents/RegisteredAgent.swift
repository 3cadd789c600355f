import KeychainModel
import SecretMemory

/// A registered agent: where it shows prompts, and its present and waiting prompts, one at a time.
final class RegisteredAgent: Sendable {
    private struct State {
        var waiting: [PendingBox] = []
        /// The prompt it shows now, or its last one.
        var current: PendingBox?
        /// When the prompt before the current one ended.
        var isFreeSince: ContinuousClock.Instant?
        /// The agent's open call for the next prompt.
        var call: CheckedContinuation<PendingBox?, Never>?
        var isGone = false
        /// The channel of the last prompt that was visible.
        var shownOn: PromptChannel?

        mutating func draw(_ box: PendingBox) {
            isFreeSince = current?.end
            current = box
        }
    }

    let place: AgentRegistration.Place
    /// The number of its registration.
    private let number: UInt64
    private let trust: TerminalTrust
    private let state = Guarded(State())

    init(_ place: AgentRegistration.Place, number: UInt64, trust: TerminalTrust) {
        (self.place, self.number, self.trust) = (place, number, trust)
    }

    /// The channel that its next prompt probably has: on a display that of the last one, and before the first one a
    /// channel that no prompt has.
    var likelyChannel: PromptChannel {
        terminalChannel ?? state.withLock { $0.shownOn } ?? PromptChannel("agent of registration \(number)")
    }

    /// The same for every agent of one terminal and session, or of one login if its terminals share their trust; nil for the
    /// agent of a display.
    private var terminalChannel: PromptChannel? {
        guard case .terminal(let path, let session, let start, let login) = place else { return nil }
        if let shared = trust.sharedChannel(ofLogin: login) { return shared }
        return PromptChannel("agent on \(path) session \(session) started \(start)")
    }

    /// The channel of a prompt that the agent reports as visible; nil if the agent could not determine where.
    ///
    /// The names of displays lead to other servers once their sockets are replaced, so the agent names the servers of each
    /// prompt. Another registration is another channel in any case.
    func channel(shownAt place: String?) -> PromptChannel? {
        let channel = place.map { terminalChannel ?? PromptChannel("agent of registration \(number), \($0)") }
        // A prompt that shows a secret has no place, and says nothing about the next one.
        if let channel { state.withLock { $0.shownOn = channel } }
        return channel
    }

    /// Whether the agent has left or was dropped.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// The prompt that it shows now, or is about to; nil if there is none.
    var openBox: PendingBox? {
        guard let box = state.withLock({ $0.current }), !box.isOver else { return nil }
        return box
    }

    /// Queues a prompt; false if the agent is gone.
    func put(_ box: PendingBox) -> Bool {
        let (call, isThere) = state.withLock { state in
            guard !state.isGone else { return (nil as CheckedContinuation<PendingBox?, Never>?, false) }
            guard let call = state.call.take() else {
                state.waiting.append(box)
                return (nil, true)
            }
            state.draw(box)
            return (call, true)
        }
        call?.resume(returning: box)
        return isThere
    }

    /// Removes a prompt that the agent has not received yet.
    ///
    /// - Returns: whether it was still waiting.
    func takeBack(_ box: PendingBox) -> Bool {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === box }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
    }

    /// Since when the agent could have shown a prompt; nil while an earlier prompt is open, which may take the user long.
    func turn(of box: PendingBox) -> ContinuousClock.Instant? {
        state.withLock { state in
            if state.current === box { return max(box.beginning, state.isFreeSince ?? box.beginning) }
            guard state.waiting.first === box else { return nil }
            guard let current = state.current else { return box.beginning }
            return current.end.map { max(box.beginning, $0) }
        }
    }

    /// Waits for the next prompt.
    ///
    /// - Returns: nil after the agent was dropped or the task was cancelled.
    /// - Throws: `errSecBadReq` for a second concurrent call, and before the last prompt has ended.
    func next() async throws(KeychainError) -> PendingBox? {
        let isBusy = state.withLock { $0.call != nil || $0.current.map { !$0.isOver } ?? false }
        guard !isBusy else { throw KeychainError(.badReq) }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isReady, box) = state.withLock { state in
                    if state.isGone || Task.isCancelled || state.call != nil {
                        return (true, nil as PendingBox?)
                    }
                    guard !state.waiting.isEmpty else {
                        state.call = continuation
                        return (false, nil)
                    }
                    state.draw(state.waiting.removeFirst())
                    return (true, state.current)
                }
                if isReady { continuation.resume(returning: box) }
            }
        } onCancel: {
            state.withLock { $0.call.take() }?.resume(returning: nil)
        }
    }

    /// The current prompt.
    ///
    /// - Throws: `errSecParam` if the current prompt has another number or there is none.
    func box(_ number: UInt64) throws(KeychainError) -> PendingBox {
        guard let box = state.withLock({ $0.current }), box.number == number else {
            throw KeychainError(.param)
        }
        return box
    }

    /// Marks the agent as gone: its prompts end as dismissed.
    func end() {
        let (boxes, call) = state.withLock { state in
            state.isGone = true
            defer { (state.waiting, state.current, state.call) = ([], nil, nil) }
            return (state.waiting + (state.current.map { [$0] } ?? []), state.call)
        }
        call?.resume(returning: nil)
        for box in boxes { box.end(.failure(PromptError(.dismissed, detail: "the agent is gone"))) }
    }
}
