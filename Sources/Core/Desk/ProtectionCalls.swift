package import KeychainModel

/// The protection against theft, for the daemon's own command.
extension Visit {
    /// The protection as it is now.
    package func protection() async throws(KeychainError) -> ProtectionReply {
        try await serving(.readProtection) { () async throws(KeychainError) in
            try requireCommand()
            return try await theftGuard().protection()
        }
    }

    /// Changes the protection, with the passcode; what makes it weaker waits like every change of credentials.
    package func changeProtection(_ body: ChangeProtection, request: UInt64) async throws(KeychainError) {
        try await serving(.changeProtection) { () async throws(KeychainError) in
            try requireCommand()
            let theftGuard = try theftGuard()
            let context = try contexts.enter(nil, request: request)
            defer { contexts.leave(context, request: request) }
            var prompts = PromptBudget(context: context, request: request, prompt: body.prompt)
            let before = try await unlocking(&prompts) { () async throws(KeychainError) in
                try await theftGuard.protection()
            }
            guard try Self.step(body.change, before) != nil else { return }
            try await askPasscode(&prompts)
            // The protection may have been changed during the prompt.
            guard let change = try Self.step(body.change, try await theftGuard.protection()) else { return }
            if change.isWeaker, let left = try await theftGuard.wait(before: .protection) {
                throw KeychainError(AuthenticationError.changeDelayed(left))
            }
            switch change {
            case .mode(let mode, _): try await theftGuard.set(mode)
            case .trust(let place, _): try await theftGuard.trust(place)
            case .distrust(let name): try await theftGuard.distrust(name)
            }
            if change.isWeaker { await theftGuard.made(.protection) }
            services.audit.record(AuditEvent(.protectionChanged, caller: caller, detail: change.detail))
        }
    }

    /// A change that is to be made.
    private enum ProtectionStep {
        case mode(TheftProtection, isWeaker: Bool)
        case trust(NetworkPlace, isProtected: Bool)
        case distrust([UInt8])

        var isWeaker: Bool {
            switch self {
            case .mode(_, let isWeaker): isWeaker
            case .trust(_, let isProtected): isProtected
            case .distrust: false
            }
        }

        /// Without names of networks, which say where a person lives.
        var detail: String {
            switch self {
            case .mode(let mode, _): "\(mode)"
            case .trust: "trusted place added"
            case .distrust: "trusted place removed"
            }
        }
    }

    /// The step to make; nil if there is nothing to change.
    private static func step(
        _ change: ChangeProtection.Change,
        _ before: ProtectionReply
    ) throws(KeychainError) -> ProtectionStep? {
        switch change {
        case .mode(let mode):
            guard mode != before.mode else { return nil }
            return .mode(mode, isWeaker: mode.rawValue < before.mode.rawValue)
        case .trustHere:
            guard let here = before.here else {
                let detail = (before.fault ?? .noNetworkManager).rawValue
                throw KeychainError(.param, cause: DriverCause(.placeRefused, detail: detail))
            }
            return before.places.contains(here) ? nil : .trust(here, isProtected: before.mode != .off)
        case .distrust(let name):
            guard before.places.contains(where: { $0.name == name }) else {
                throw KeychainError(.itemNotFound)
            }
            return .distrust(name)
        }
    }

    private func theftGuard() throws(KeychainError) -> TheftGuard {
        guard let theftGuard = services.theftGuard else { throw KeychainError(.unimplemented) }
        return theftGuard
    }
}
