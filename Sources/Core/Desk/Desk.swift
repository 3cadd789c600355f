import KeychainModel
import SecretMemory

/// The use cases of the keychain, whoever asks and by whatever protocol.
///
/// A door (a socket, a bus, a pipe) finds out who asks and turns bytes into calls of a ``Visit``; what a call means, what
/// it may see, whom it asks and how often is decided here, the same for all doors.
///
/// ```swift
/// let visit = desk.visit(by: asker)
/// defer { visit.end() }
/// try await visit.unlock(prompt)
/// ```
package final class Desk: Sendable {
    private struct State {
        var contexts: [UInt64: ContextTable] = [:]
        var lastNumber: UInt64 = 0
    }

    /// What the calls are made of.
    package let services: KeychainServices
    /// The locked memory of all visits.
    package let memory: LockedMemory
    /// Those who are told what changed.
    package let watchers = Watchers()
    /// Those who draw boxes for a daemon that cannot; nil where the daemon draws them itself.
    package let agents: AgentRoster?
    let limits: DeskLimits
    let failures: FailureLog
    private let state = Guarded(State())

    /// Opens for visits.
    package init(services: KeychainServices, limits: DeskLimits, agents: AgentRoster? = nil) {
        self.services = services
        self.agents = agents
        self.limits = limits
        memory = LockedMemory(limits)
        failures = FailureLog(services.audit, pause: limits.failurePause)
    }

    /// Begins a visit, which has a number of its own among those of all doors.
    package func visit(by asker: Asker) -> Visit {
        let (number, contexts) = state.withLock { state in
            state.lastNumber += 1
            let contexts = ContextTable(visit: state.lastNumber, limits: limits, budget: memory.passwords)
            state.contexts[state.lastNumber] = contexts
            return (state.lastNumber, contexts)
        }
        return Visit(number, at: self, by: asker, contexts: contexts)
    }

    /// Forgets every proof of every context: the keybag was locked, or the enrolled fingers are others.
    package func forgetProofs() {
        for contexts in state.withLock({ Array($0.contexts.values) }) { contexts.forgetProofs() }
    }

    func end(_ visit: UInt64) {
        state.withLock { $0.contexts.removeValue(forKey: visit) }?.removeAll()
        agents?.remove(visit: visit)
    }
}
