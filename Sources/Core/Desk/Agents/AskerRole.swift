package import KeychainModel

/// The methods a caller may call, decided by its kernel credentials.
package enum AskerRole: Sendable, Hashable {
    /// A program of the owner: all methods except those of agents.
    case app
    /// The program that shows prompts, identified by its group: the methods of agents only.
    case agent
    /// A program that asks for other programs: the methods for their items.
    case door
}

extension Method {
    /// Whether this role may call this method.
    func isOpen(to role: AskerRole) -> Bool {
        switch self {
        case .agentRegister, .agentNext, .agentShown, .agentAnswer, .agentGone, .agentJudge,
            .agentCheck:
            role == .agent
        case .addItem, .copyItems, .updateItems, .deleteItems, .replaceItem, .evaluatePolicy,
            .evaluateAccessControl,
            .invalidateContext, .status, .unlock, .watch:
            role == .app || role == .door
        default: role == .app
        }
    }
}

extension Visit {
    /// Whether the caller may call a method; a refusal is logged.
    ///
    /// Greetings and cancellations are open to every caller. Without a roster, as in per-user mode, there are no agents,
    /// and their methods are refused.
    package func admits(_ method: Method) -> Bool {
        let isTheirs: Bool
        switch method {
        case .hello, .cancel: return true
        case .represent: isTheirs = asker.mayRepresent
        default: isTheirs = method.isOpen(to: asker.role) && (asker.role != .agent || desk.agents != nil)
        }
        if !isTheirs {
            let who =
                switch asker.role {
                case .agent: "an agent"
                case .door: "a door"
                case .app: "a program that is no \(method == .represent ? "door" : "agent")"
                }
            desk.failures.recordRefusal("\(method) called by \(who)", by: caller)
        }
        return isTheirs
    }
}
