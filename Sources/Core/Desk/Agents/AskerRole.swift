package import KeychainModel

/// The methods a caller may call, decided by its kernel credentials.
package enum AskerRole: Sendable, Hashable {
    /// A program of the owner: all methods except those of agents.
    case app
    /// The program that shows prompts, identified by its group: the methods of agents only.
    case agent
}

extension Method {
    /// The role that may call this method.
    var role: AskerRole {
        switch self {
        case .agentRegister, .agentNext, .agentShown, .agentAnswer, .agentGone, .agentJudge,
            .agentCheck:
            .agent
        default: .app
        }
    }
}

extension Visit {
    /// Whether the caller may call a method; a refusal is logged.
    ///
    /// Greetings and cancellations are open to every caller. Without a roster, as in per-user mode, there are no agents,
    /// and their methods are refused.
    package func admits(_ method: Method) -> Bool {
        switch method {
        case .hello, .cancel: return true
        default: break
        }
        let isTheirs = method.role == asker.role && (asker.role == .app || desk.agents != nil)
        if !isTheirs {
            let detail =
                "\(method) called by \(asker.role == .agent ? "an agent" : "a program that is no agent")"
            desk.failures.recordRefusal(detail, by: caller)
        }
        return isTheirs
    }
}
