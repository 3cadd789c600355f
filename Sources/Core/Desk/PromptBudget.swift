import KeychainModel

/// The prompts that one call may show, how many it has shown, and the key it has derived.
struct PromptBudget {
    /// The context that gets the proofs; nil for none.
    let context: ContextID?
    /// The call's number, with which it entered the context; nil for none.
    let request: UInt64?
    /// How to prompt.
    let prompt: PromptFields
    /// Whether prompts are allowed.
    let mayAsk: Bool
    private var rounds = 0
    /// Whether the hardware counted what the call changed, if it had to.
    fileprivate(set) var isCounted = true
    /// Whether an evaluation found that the enrolled fingers changed.
    fileprivate var hasSeenChange = false
    /// How often the user was asked for an application password.
    var passwordTries = 0
    /// The application password last used, and its key once it was derived.
    fileprivate var password: (given: ApplicationPassword, key: PasswordKey?)?

    init(context: ContextID?, request: UInt64?, prompt: PromptFields, mayAsk: Bool? = nil) {
        self.request = request
        self.context = context
        self.prompt = prompt
        self.mayAsk = mayAsk ?? prompt.interactionAllowed
    }

    /// A missing application password is asked for, so that without leave to ask it is `errSecInteractionNotAllowed`, as on
    /// Apple's systems.
    fileprivate func judged(_ error: KeychainError) -> KeychainError {
        let isMissing =
            error.cause == .applicationPasswordMissing || error.cause == .newApplicationPasswordMissing
        return isMissing && !mayAsk ? KeychainError(.interactionNotAllowed, cause: error.cause) : error
    }

    fileprivate mutating func count(_ limits: DeskLimits) throws(KeychainError) {
        rounds += 1
        guard rounds <= limits.authenticationRounds else { throw KeychainError(.authFailed) }
    }
}

/// Shared by item and key calls: unlocks the keybag or prompts for access controls and application passwords if needed, and runs
/// the call again.
extension Visit {
    /// Runs a call, and again after unlocking the keybag if it was locked or with an application password if it lacked one;
    /// `accessControl` is that of an added item or key.
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
                    if try await askPassword(after: error, &prompts) { continue }
                    throw prompts.judged(named(error, adding: accessControl))
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

    /// Makes a call, and again once the keybag was unlocked, the user was prompted for `operation` or a key was derived.
    ///
    /// `usesKey`: whether the call uses a key that a lock removes, which restarts the idle time.
    func calling<Value: ~Copyable & Sendable>(
        _ prompts: inout PromptBudget,
        for operation: AccessOperation = .useItem,
        adding accessControl: AccessControl? = nil,
        usesKey: Bool = true,
        _ call: (ItemAuthorization) async throws(KeychainError) -> VaultOutcome<Value>
    ) async throws(KeychainError) -> Value {
        while true {
            let (context, request) = (prompts.context, prompts.request)
            var password = prompts.password
            let outcome = try await unlocking(&prompts, adding: accessControl) { () throws(KeychainError) in
                var authorization = ItemAuthorization()
                if let context { authorization = try contexts.authorization(of: context, for: request) }
                // The context may have got another password meanwhile.
                if authorization.applicationPassword !== password?.given {
                    password = authorization.applicationPassword.map { ($0, nil) }
                }
                authorization.passwordKey = password?.key
                return try await call(authorization)
            }
            switch consume outcome {
            case .done(let value):
                if usesKey { desk.keyActivity.note() }
                return value
            case .needsHardware(let value):
                if await !services.vault.settle() { prompts.isCounted = false }
                return value
            case .needsUser(let controls): try await ask(for: controls, operation, &prompts)
            case .needsKey:
                guard let given = password?.given, password?.key == nil else {
                    throw KeychainError(.internalComponent)
                }
                prompts.password = (given, try await services.vault.key(of: given))
            }
        }
    }

    /// Prompts for the access controls that the proofs in the call's context do not satisfy.
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
        // What is given for the finger or the passcode alone satisfies "either" too, so that one is asked for last.
        let (either, others) = (
            controls.filter { $0.flags.contains(.userPresence) },
            controls.filter { !$0.flags.contains(.userPresence) }
        )
        for control in others + either {
            let proofs = try contexts.authorization(of: context, for: prompts.request).proofs
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
                // Items bound to the former fingers are invalid now: the call's next run reports that.
                guard error.cause == .enrolmentChanged, !prompts.hasSeenChange else { throw error }
                prompts.hasSeenChange = true
            }
            hasAsked = true
        }
        // Prompts cannot provide what is missing, for example another application password.
        guard hasAsked else { throw KeychainError(.authFailed) }
    }

    /// Before set-up every call fails in the same way, except adding an item that requires a passcode to be set:
    /// that is `errSecAuthFailed`, as Apple's.
    func named(_ error: KeychainError, adding accessControl: AccessControl?) -> KeychainError {
        guard error.cause == .notSetUp else { return error }
        guard accessControl?.accessibility == .whenPasscodeSetThisDeviceOnly else { return Self.notSetUp }
        return KeychainError(.authFailed, authentication: Self.notSetUp.authentication, remedy: .setPasscode)
    }
}
