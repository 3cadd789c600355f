import KeychainModel

/// What one call may ask of the user, and how often it did.
struct PromptBudget {
    /// Where what is shown counts; nil for nowhere.
    let context: ContextID?
    /// How to prompt.
    let prompt: PromptFields
    /// Whether a box may be shown.
    let mayAsk: Bool
    private var rounds = 0
    /// Whether an evaluation found that the enrolled fingers are others.
    fileprivate var hasSeenChange = false

    init(context: ContextID?, prompt: PromptFields, mayAsk: Bool? = nil) {
        self.context = context
        self.prompt = prompt
        self.mayAsk = mayAsk ?? prompt.interactionAllowed
    }

    fileprivate mutating func count(_ limits: DeskLimits) throws(KeychainError) {
        rounds += 1
        guard rounds <= limits.authenticationRounds else { throw KeychainError(.authFailed) }
    }
}

/// What item calls and key calls share: unlock where that is what is missing, ask the user where access control
/// demands it, run again.
extension Visit {
    /// Runs a call, and again once the keybag was unlocked for it; `accessControl` is that of what it adds.
    func unlocking<R: ~Copyable>(
        _ prompts: inout PromptBudget,
        adding accessControl: AccessControl? = nil,
        _ call: () async throws(KeychainError) -> R
    ) async throws(KeychainError) -> R {
        while true {
            guard !Task.isCancelled else { throw KeychainError(asEnded(AuthenticationError(.appCancel))) }
            do throws(KeychainError) {
                return try await call()
            } catch {
                guard prompts.mayAsk, error.status == .interactionNotAllowed, error.cause == .locked else {
                    throw named(error, adding: accessControl)
                }
            }
            try prompts.count(limits)
            do throws(KeychainError) {
                try await unlock(for: prompts.context, prompt: prompts.prompt)
            } catch {
                throw named(error, adding: accessControl)
            }
        }
    }

    /// Asks for those access controls that the call's context cannot show yet.
    func ask(
        for controls: [AccessControl],
        _ operation: AccessOperation,
        _ prompts: inout PromptBudget
    ) async throws(KeychainError) {
        try prompts.count(limits)
        guard prompts.mayAsk, let context = prompts.context else {
            throw KeychainError(AuthenticationError(.notInteractive))
        }
        var hasAsked = false
        for control in controls {
            let proofs = try contexts.authorization(of: context).proofs
            switch control.decide(given: proofs, operation: operation) {
            case .granted: continue
            case .denied(let error): throw KeychainError(error)
            case .needs: break
            }
            do throws(KeychainError) {
                _ = try await authenticate(
                    .accessControl(control, operation),
                    in: context,
                    prompt: prompts.prompt
                )
            } catch {
                // What demanded the former fingers is gone now: the call's next run tells.
                guard error.cause == .enrolmentChanged, !prompts.hasSeenChange else { throw error }
                prompts.hasSeenChange = true
            }
            hasAsked = true
        }
        // More is wanted than the user can show, for example another application password.
        guard hasAsked else { throw KeychainError(.authFailed) }
    }

    /// Before set-up every call has the same answer, but for adding an item that wants a passcode to be set:
    /// that is `errSecAuthFailed`, as Apple's.
    func named(_ error: KeychainError, adding accessControl: AccessControl?) -> KeychainError {
        guard error.cause == .notSetUp else { return error }
        guard accessControl?.accessibility == .whenPasscodeSetThisDeviceOnly else { return Self.notSetUp }
        return KeychainError(.authFailed, authentication: Self.notSetUp.authentication, remedy: .setPasscode)
    }
}
