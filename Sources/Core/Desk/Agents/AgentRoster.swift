package import KeychainModel
import SecretMemory

/// The agents of the owner's sessions: which one draws the box of a request.
///
/// Made once, where a program starts, for a daemon that runs under an account of its own and cannot draw.
package final class AgentRoster: Sendable {
    private struct State {
        /// By their visits.
        var agents: [UInt64: RegisteredAgent] = [:]
        var lastRegistration: UInt64 = 0
        var lastBox: UInt64 = 0
    }

    /// Agents of one terminal at a time: each command of a pipeline may bring one.
    static let mostOnOneTerminal = 8
    /// Agents at a time.
    static let mostAgents = 64

    /// What agents draw with.
    let admission: AgentAdmission
    private let state = Guarded(State())

    /// Knows no agent yet.
    ///
    /// - Parameter admission: what agents draw with.
    package init(_ admission: AgentAdmission) { self.admission = admission }

    // MARK: Registration

    /// Takes an agent in.
    ///
    /// - Throws: `errSecDuplicateItem` for a second one of the graphical session, and for a second registration of one
    ///   connection; `errSecAllocate` for too many.
    func add(_ registration: AgentRegistration, visit: UInt64) throws(KeychainError) -> RegisteredAgent {
        try state.withLock { state throws(KeychainError) in
            guard state.agents[visit] == nil else { throw KeychainError(.duplicateItem) }
            guard state.agents.count < Self.mostAgents else { throw KeychainError(.allocate, remedy: .retry) }
            switch registration.place {
            case .graphical:
                // The first one stays: what the person has seen is not replaced by what comes later.
                guard !state.agents.values.contains(where: \.isGraphical) else {
                    throw KeychainError(.duplicateItem)
                }
            case .terminal(let path, _, _):
                let others = state.agents.values.count { $0.terminal == path }
                guard others < Self.mostOnOneTerminal else { throw KeychainError(.allocate, remedy: .retry) }
            }
            state.lastRegistration += 1
            let agent = RegisteredAgent(registration.place, number: state.lastRegistration)
            state.agents[visit] = agent
            return agent
        }
    }

    /// The agent of a visit.
    ///
    /// - Throws: `errSecBadReq` where it has not registered, or is not wanted any more.
    func agent(of visit: UInt64) throws(KeychainError) -> RegisteredAgent {
        guard let agent = state.withLock({ $0.agents[visit] }) else { throw KeychainError(.badReq) }
        return agent
    }

    /// The visit of an agent is over.
    func remove(visit: UInt64) { state.withLock { $0.agents.removeValue(forKey: visit) }?.end() }

    /// An agent did not do what it was told: it gets nothing any more.
    func drop(_ agent: RegisteredAgent) {
        state.withLock { state in
            for (visit, other) in state.agents where other === agent { state.agents[visit] = nil }
        }
        agent.end()
    }

    // MARK: Choice

    /// The agents that may draw the box of a request from there, in their order.
    ///
    /// First those of the request's own terminal, the last that came before the others. Then that of the graphical session; but not
    /// for a request from a terminal without a display, as over ssh: who sits there does not see the box, and who sees
    /// it did not ask.
    ///
    /// - Throws: ``PromptError`` `noAgent` where there is none.
    func agents(for origin: PromptOrigin) throws(PromptError) -> [RegisteredAgent] {
        let agents = state.withLock { state in state.agents.sorted { $0.key > $1.key }.map(\.value) }
        var chosen: [RegisteredAgent] = []
        if let terminal = origin.terminal, let agent = agents.first(where: { $0.terminal == terminal }) {
            chosen.append(agent)
        }
        if origin.terminal == nil || origin.display != nil || origin.waylandDisplay != nil,
            let agent = agents.first(where: \.isGraphical)
        {
            chosen.append(agent)
        }
        guard !chosen.isEmpty else {
            throw PromptError(.noAgent, detail: "no agent draws on \(origin.terminal ?? "a display")")
        }
        return chosen
    }

    /// A number for a box: different from all others.
    func nextBoxNumber() -> UInt64 {
        state.withLock { state in
            state.lastBox += 1
            return state.lastBox
        }
    }
}

extension RegisteredAgent {
    /// Its terminal; nil for that of the graphical session.
    fileprivate var terminal: String? {
        if case .terminal(let path, _, _) = place { path } else { nil }
    }

    /// Whether it is that of the graphical session.
    fileprivate var isGraphical: Bool { terminal == nil }
}
