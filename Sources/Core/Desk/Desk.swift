import KeychainModel
import SecretMemory

/// The use cases of the keychain, for every caller and every protocol.
///
/// A door (a socket, a bus, a pipe) identifies the caller and turns bytes into calls of a ``Visit``; the desk decides,
/// alike for all doors, what a call does, what it may see, and whom it prompts and how often.
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

    /// The services that the calls use.
    package let services: KeychainServices
    /// The locked memory of all visits.
    package let memory: LockedMemory
    /// The visits that are notified of changes.
    package let watchers = Watchers()
    /// The agents that show prompts for a daemon that cannot; nil if the daemon shows them itself.
    package let agents: AgentRoster?
    /// When a request last used a key that a lock removes.
    package let keyActivity = KeyActivity()
    /// What `lock --after` set.
    package let lockTimer = LockTimer()
    let limits: DeskLimits
    /// The secrets compared with items that are not opened.
    let guesses = GuessRate()
    package let failures: FailureLog
    private let state = Guarded(State())

    /// Creates a desk.
    package init(services: KeychainServices, limits: DeskLimits, agents: AgentRoster? = nil) {
        self.services = services
        self.agents = agents
        self.limits = limits
        memory = LockedMemory(limits)
        failures = FailureLog(services.audit, pause: limits.failurePause)
    }

    /// Begins a visit, with a number that is unique among all doors.
    package func visit(by asker: Asker) -> Visit {
        let (number, contexts) = state.withLock { state in
            state.lastNumber += 1
            let contexts = ContextTable(
                visit: state.lastNumber,
                limits: limits,
                budget: memory.passwords,
                clock: services.clock
            )
            state.contexts[state.lastNumber] = contexts
            return (state.lastNumber, contexts)
        }
        return Visit(number, at: self, by: asker, contexts: contexts)
    }

    /// Discards every proof of every context: the keybag was locked, or the enrolled fingers changed.
    package func forgetProofs() {
        for contexts in state.withLock({ Array($0.contexts.values) }) { contexts.forgetProofs() }
    }

    func end(_ visit: UInt64) {
        state.withLock { $0.contexts.removeValue(forKey: visit) }?.removeAll()
        agents?.remove(visit: visit)
    }
}
