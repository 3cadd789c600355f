package import KeychainModel
import SecretMemory

/// The agents of the owner's sessions, and the choice of the one that shows a request's prompt.
///
/// Created once at program start, for a daemon that runs under an account of its own and cannot show prompts.
package final class AgentRoster: Sendable {
    private struct State {
        /// The agents by their visits.
        var agents: [UInt64: RegisteredAgent] = [:]
        var lastRegistration: UInt64 = 0
        var lastBox: UInt64 = 0
    }

    /// The most agents of one terminal: each command of a pipeline may start one.
    static let mostOnOneTerminal = 8
    /// The most agents.
    static let mostAgents = 64

    /// What agents need to show prompts.
    let admission: AgentAdmission
    private let trust: TerminalTrust
    private let arrivalEnd: ContinuousClock.Instant
    private let state = Guarded(State())

    /// Creates a roster without agents.
    ///
    /// - Parameters:
    ///   - admission: what agents need to show prompts.
    ///   - trust: where a passcode typed on one agent's terminal counts.
    ///   - arrival: for how long from now on the agent of the session may be on its way: it looks for a daemon that was restarted
    ///     each second.
    package init(
        _ admission: AgentAdmission,
        trust: TerminalTrust = .terminal,
        arrival: Duration = .zero
    ) {
        (self.admission, self.trust) = (admission, trust)
        arrivalEnd = .now + arrival
    }

    // MARK: Registration

    /// Adds an agent.
    ///
    /// - Throws: `errSecDuplicateItem` for a second agent of the graphical session, and for a second registration on one
    ///   connection; `errSecAllocate` for too many.
    func add(_ registration: AgentRegistration, visit: UInt64) throws(KeychainError) -> RegisteredAgent {
        try state.withLock { state throws(KeychainError) in
            guard state.agents[visit] == nil else { throw KeychainError(.duplicateItem) }
            guard state.agents.count < Self.mostAgents else { throw KeychainError(.allocate, remedy: .retry) }
            switch registration.place {
            case .graphical:
                // The first agent stays: a later one must not replace the one the user has seen.
                guard !state.agents.values.contains(where: \.isGraphical) else {
                    throw KeychainError(.duplicateItem)
                }
            case .terminal(let path, _, _, _):
                let others = state.agents.values.count { $0.terminal == path }
                guard others < Self.mostOnOneTerminal else { throw KeychainError(.allocate, remedy: .retry) }
            }
            state.lastRegistration += 1
            let agent = RegisteredAgent(
                registration.place,
                number: state.lastRegistration,
                trust: trust
            )
            state.agents[visit] = agent
            return agent
        }
    }

    /// The agent of a visit.
    ///
    /// - Throws: `errSecBadReq` if it has not registered or was dropped.
    func agent(of visit: UInt64) throws(KeychainError) -> RegisteredAgent {
        guard let agent = state.withLock({ $0.agents[visit] }) else { throw KeychainError(.badReq) }
        return agent
    }

    /// Removes an agent whose visit has ended.
    func remove(visit: UInt64) { state.withLock { $0.agents.removeValue(forKey: visit) }?.end() }

    /// Drops an agent that broke the protocol: it gets no further prompts.
    func drop(_ agent: RegisteredAgent) {
        state.withLock { state in
            for (visit, other) in state.agents where other === agent { state.agents[visit] = nil }
        }
        agent.end()
    }

    // MARK: Choice

    /// The agents that may show a prompt for a request from `origin`, in order of preference.
    ///
    /// First the agent of the request's own terminal, the most recent one. Then the agent of the graphical session,
    /// except for a request from a terminal without a display, as over ssh: the user at that terminal would not see the
    /// prompt, and the user who sees it did not make the request.
    ///
    /// - Throws: ``PromptError`` `noAgent` if there is none.
    func agents(for origin: PromptOrigin) throws(PromptError) -> [RegisteredAgent] {
        let agents = state.withLock { state in state.agents.sorted { $0.key > $1.key }.map(\.value) }
        var chosen: [RegisteredAgent] = []
        if let terminal = origin.terminal, let agent = agents.first(where: { $0.terminal == terminal }) {
            chosen.append(agent)
        }
        if origin.terminal == nil || origin.hasDisplay,
            let agent = agents.first(where: \.isGraphical)
        {
            chosen.append(agent)
        }
        guard !chosen.isEmpty else {
            throw PromptError(.noAgent, detail: "no agent draws on \(origin.terminal ?? "a display")")
        }
        return chosen
    }

    /// The same; a request of a program on a display waits for the agent of the session, which may be on its way to a daemon that
    /// has just started.
    func agentsOnceHere(for origin: PromptOrigin) async throws(PromptError) -> [RegisteredAgent] {
        while true {
            do throws(PromptError) {
                return try agents(for: origin)
            } catch {
                guard origin.terminal == nil, origin.hasDisplay, ContinuousClock.now < arrivalEnd,
                    (try? await Task.sleep(for: .milliseconds(20))) != nil
                else { throw error }
            }
        }
    }

    /// The prompts that agents show for a request from `origin`, or are about to.
    func open(for origin: PromptOrigin) -> [(agent: RegisteredAgent, box: PendingBox)] {
        let agents = state.withLock { Array($0.agents.values) }
        return agents.compactMap { agent in
            guard let box = agent.openBox, box.origin == origin else { return nil }
            return (agent, box)
        }
    }

    /// A unique number for a prompt.
    func nextBoxNumber() -> UInt64 {
        state.withLock { state in
            state.lastBox += 1
            return state.lastBox
        }
    }
}

extension PromptOrigin {
    fileprivate var hasDisplay: Bool { display != nil || waylandDisplay != nil }
}

extension RegisteredAgent {
    /// The agent's terminal; nil for the agent of the graphical session.
    fileprivate var terminal: String? {
        if case .terminal(let path, _, _, _) = place { path } else { nil }
    }

    /// Whether it is the agent of the graphical session.
    fileprivate var isGraphical: Bool { terminal == nil }
}
