import KeychainModel
import SecretMemory

/// An agent that has registered: where it draws, and the boxes that it has and will have, one after the other.
final class RegisteredAgent: Sendable {
    private struct State {
        var waiting: [PendingBox] = []
        /// What it draws now; its last one, where that is over.
        var current: PendingBox?
        /// When the box before that one ended.
        var isFreeSince: ContinuousClock.Instant?
        /// Its open call for the next box.
        var call: CheckedContinuation<PendingBox?, Never>?
        var isGone = false

        mutating func draw(_ box: PendingBox) {
            isFreeSince = current?.end
            current = box
        }
    }

    let place: AgentRegistration.Place
    /// The channel of its boxes.
    let channel: PromptChannel
    private let state = Guarded(State())

    init(_ place: AgentRegistration.Place, number: UInt64) {
        self.place = place
        channel =
            switch place {
            // The same for each agent that comes to this terminal while this session has it.
            case .terminal(let path, let session, let start):
                PromptChannel("agent on \(path) session \(session) started \(start)")
            // A display may be nested in another one, and says what it likes of itself: each registration is new.
            case .graphical: PromptChannel("agent of registration \(number)")
            }
    }

    /// Whether it is gone, or is to go.
    var isGone: Bool { state.withLock { $0.isGone } }

    /// Gives it a box; false where the agent is gone.
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

    /// Takes a box back that the agent has not been given yet.
    ///
    /// - Returns: whether it was still waiting.
    func takeBack(_ box: PendingBox) -> Bool {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0 === box }) else { return false }
            state.waiting.remove(at: index)
            return true
        }
    }

    /// Since when the agent can have shown a box; nil while another one is before it, which a person may look at for long.
    func turn(of box: PendingBox) -> ContinuousClock.Instant? {
        state.withLock { state in
            if state.current === box { return max(box.beginning, state.isFreeSince ?? box.beginning) }
            guard state.waiting.first === box else { return nil }
            guard let current = state.current else { return box.beginning }
            return current.end.map { max(box.beginning, $0) }
        }
    }

    /// Waits for a box.
    ///
    /// - Returns: nil once the agent is not wanted any more, or the task was cancelled.
    /// - Throws: `errSecBadReq` for a second call at the same time, and before the last box is over.
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

    /// The box that it draws.
    ///
    /// - Throws: `errSecParam` where that is another one, or over.
    func box(_ number: UInt64) throws(KeychainError) -> PendingBox {
        guard let box = state.withLock({ $0.current }), box.number == number else {
            throw KeychainError(.param)
        }
        return box
    }

    /// The agent is gone, or is to go: its boxes end as taken away.
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
