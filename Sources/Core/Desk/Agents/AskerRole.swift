package import KeychainModel

/// What a caller may call, by what the kernel says of it.
package enum AskerRole: Sendable, Hashable {
    /// A program of the owner's: all methods but those of agents.
    case app
    /// The program that draws boxes, known by its group: the methods of agents, and nothing else.
    case agent
}

extension Method {
    /// Whose method it is.
    var role: AskerRole {
        switch self {
        case .agentRegister, .agentNext, .agentShown, .agentAnswer, .agentGone, .agentJudge: .agent
        default: .app
        }
    }
}

extension Visit {
    /// Whether the caller may call a method at all; where it may not, the log is told.
    ///
    /// Greetings and cancellations are everybody's. Without a roster, as in per-user mode, there are no agents, and nobody may
    /// call their methods.
    package func admits(_ method: Method) -> Bool {
        switch method {
        case .hello, .cancel: return true
        default: break
        }
        let isTheirs = method.role == asker.role && (asker.role == .app || desk.agents != nil)
        if !isTheirs {
            let detail =
                "\(method) called by \(asker.role == .agent ? "an agent" : "a program that is no agent")"
            services.audit.record(AuditEvent(.clientRefused, caller: caller, detail: detail))
        }
        return isTheirs
    }
}
