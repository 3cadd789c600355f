public import KeychainModel
import SecretMemory

/// Flows of several prompts: creating a keybag, changing its passcode, putting it aside.
///
/// Each flow changes the keybag in one step after all prompts; ending it earlier changes nothing.
extension AuthenticationEngine {
    /// Weak new passcodes that are refused before the request ends.
    private static let weakPasscodes = 10
    /// Mistyped recovery codes or words before the request ends.
    static let codeTries = 3

    /// Creates the keybag: asks twice for a passcode of sufficient strength, then shows the recovery code once and has it
    /// typed back.
    public func setUp(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            guard await self.keybag.state() == .notSetUp else {
                throw AuthenticationError(.invalidParameter, cause: .alreadySetUp)
            }
            try await self.counting(request) { () async throws(AuthenticationError) in
                let passcode = try await self.newPasscode("Choose a passcode for the keychain", request)
                let code = try await self.confirmedCode(
                    "Write down this recovery code. It alone opens the keychain when the passcode is lost, "
                        + "and it is not shown again.",
                    typingBack: "Type the recovery code that you wrote down",
                    request
                )
                let enrolled = await self.enrolmentAtSetUp()
                try await self.changing { keybag async throws(KeychainError) in
                    try await keybag.setUp(
                        passcode: passcode.octets.copy(),
                        recoveryCode: code.octets,
                        enrolled: enrolled
                    )
                }
            }
        }
    }

    /// Asks for the old passcode, then twice for the new one, and changes the passcode.
    public func changePasscode(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            let proof = try await self.ask(
                EvaluationDemand(policyRequirement: .passcode),
                for: request,
                heading: "Enter the keychain's present passcode"
            )
            try await self.wait(before: .passcode)
            try await self.counting(request) { () async throws(AuthenticationError) in
                let passcode = try await self.newPasscode("Choose a new passcode for the keychain", request)
                try await self.changing { keybag async throws(KeychainError) in
                    try await keybag.changePasscode(to: passcode.octets.copy(), proof: proof)
                }
            }
            await self.credentialGuard?.made(.passcode)
        }
    }

    /// Asks the user to confirm it by typing two words, and puts the keychain's files aside.
    ///
    /// No factor is asked for: whoever lost all of them starts over, and nothing opens or goes.
    public func startOver(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.counting(request) { () async throws(AuthenticationError) in
                try await self.typedWords(
                    "start over",
                    "This puts the keychain with all its secrets aside, and nothing opens them until its files are "
                        + "put back. Type the words \"start over\" to do it",
                    request
                )
                do throws(KeychainError) {
                    _ = try await self.keybag.startOver()
                } catch {
                    throw AuthenticationError(keychain: error)
                }
                self.forgetKeychain()
                await self.credentialGuard?.forget()
            }
        }
    }

    /// Forgets what was proved with a keychain that is gone.
    private func forgetKeychain() {
        areFingersDoubted = false
        seen = SeenChannels()
        reuse.clear()
        past = PastAuthentications()
    }

    /// Asks for the passcode and moves the keybag to the best seal of this machine.
    public func migrate(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            _ = try await self.usableState()
            do throws(KeychainError) {
                try await self.keybag.migrateAtNextOpening()
            } catch {
                throw AuthenticationError(keychain: error)
            }
            do throws(AuthenticationError) {
                _ = try await self.ask(
                    EvaluationDemand(policyRequirement: .passcode),
                    for: request,
                    heading: "Enter the keychain's passcode to move its key to this machine's TPM"
                )
            } catch {
                await self.keybag.abandonMigration()
                throw error
            }
        }
    }

    /// Asks for the passcode, regardless of earlier factors.
    public func confirm(
        _ request: PromptRequest,
        heading: String
    ) async throws(AuthenticationError) -> AuthenticationProof {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.ask(
                EvaluationDemand(policyRequirement: .passcode),
                for: request,
                heading: heading
            )
        }
    }

    /// Shows a new authorisation code for the TPM's lockout, has it typed back, and sets it.
    public func protectLockout(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.counting(request) { () async throws(AuthenticationError) in
                let canProtect: Bool
                do throws(KeychainError) {
                    canProtect = try await self.keybag.canProtectLockout()
                } catch {
                    throw AuthenticationError(keychain: error)
                }
                guard canProtect else { throw AuthenticationError(.invalidParameter) }
                let code = try await self.confirmedCode(
                    "Write down this code for the TPM's lockout. It alone, without its hyphens, resets the "
                        + "lockout before its time, and it is not shown again.",
                    typingBack: "Type the code that you wrote down",
                    fieldLabel: "Code:",
                    request
                )
                do throws(KeychainError) {
                    try await self.keybag.protectLockout(with: code.octets)
                } catch {
                    throw AuthenticationError(keychain: error)
                }
            }
        }
    }

    // MARK: Steps

    /// Refuses a change of credentials that has to wait; the passcode was entered just before, so that only who knows it begins
    /// a wait.
    func wait(before change: CredentialChange) async throws(AuthenticationError) {
        let wait: Duration?
        do throws(KeychainError) {
            wait = try await credentialGuard?.wait(before: change)
        } catch {
            throw AuthenticationError(keychain: error)
        }
        if let wait { throw .changeDelayed(wait) }
    }

    /// Counts the request against the user's limit unless it succeeds.
    func counting<Value: Sendable>(
        _ request: PromptRequest,
        _ body: () async throws(AuthenticationError) -> Value
    ) async throws(AuthenticationError) -> Value {
        do {
            let value = try await body()
            promptSucceeded(of: request.caller)
            return value
        } catch {
            countPrompt(of: request.caller, endedBy: error)
            audit.record(AuditEvent(error.auditKind, caller: request.caller, detail: error.auditDetail))
            throw error
        }
    }

    /// Changes the keybag; on success the passcode counts as just entered, and the counts of failed attempts are reset.
    func changing<Value: Sendable>(
        _ change: (any KeybagKeeper) async throws(KeychainError) -> Value
    ) async throws(AuthenticationError) -> Value {
        if let interruption { throw interruption.error }
        if Task.isCancelled { throw AuthenticationError(.appCancel) }
        let value: Value
        do {
            value = try await change(keybag)
        } catch {
            throw AuthenticationError(keychain: error)
        }
        areFingersDoubted = false
        seen.note(flowChannel)
        reuse.clear()
        do {
            try attempts.save(PasscodeThrottle.opened(at: clock.now()))
        } catch {
            // The change is made and cannot be undone: the old counts stay until the next right passcode resets them.
            audit.record(
                AuditEvent(.authenticationFailed, detail: "the counts of attempts could not be reset")
            )
        }
        return value
    }

    func newPasscode(
        _ heading: String,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> TypedSecret {
        let rules = PasscodeStrength(
            isGuessingLimited: await keybag.assurance().assurance == .tpm,
            userName: configuration.userName
        )
        // The prompt's program judges the entry too if it can; the check below covers every program.
        let judge: NewSecretJudge = rules.judge
        var message: String?
        for _ in 0..<Self.weakPasscodes {
            var prompt = Prompt(
                .newSecret,
                for: request,
                heading: "\(heading): \(rules.ruleWithReason)",
                error: message,
                configuration
            )
            prompt.judge = judge
            let typed = try await entered(prompt, request)
            switch typed.octets.withOctets({ rules.judge($0) }) {
            case .acceptable: return typed
            case .refused(let reason): message = reason.sentence
            }
        }
        throw AuthenticationError(
            .authenticationFailed,
            cause: DriverCause(.weakPasscode),
            remedy: .retry
        )
    }

    /// Asks for words that confirm a step, until they are typed.
    private func typedWords(
        _ words: String,
        _ heading: String,
        _ request: PromptRequest
    ) async throws(AuthenticationError) {
        var message: String?
        for _ in 0..<Self.codeTries {
            var prompt = Prompt(.secret, for: request, heading: heading, error: message, configuration)
            prompt.fieldLabel = "Words:"
            let typed = try await entered(prompt, request)
            if typed.octets.matches(SecretBytes(copying: Array(words.utf8))) { return }
            message = "These were other words."
        }
        throw AuthenticationError(.authenticationFailed, remedy: .retry)
    }

    // MARK: Prompts

    func entered(
        _ prompt: Prompt,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> TypedSecret {
        let shown = ShownChannel()
        let answer = await takenAway { [prompter] in
            await prompter.answer(to: prompt, at: request.origin) { shown.note($0()) }
        }
        guard case .entered(let secret) = answer else { throw failure(answer) }
        flowChannel = shown.channel
        return secret
    }

    func shown(
        _ code: TypedSecret,
        _ prompt: Prompt,
        _ request: PromptRequest
    ) async -> BoxAnswer {
        await takenAway { [prompter] in
            await prompter.answer(toShowing: code, in: prompt, at: request.origin)
        }
    }

    /// Shows a prompt that the caller, a lock or sleep can dismiss.
    private func takenAway(_ body: @escaping @Sendable () async -> BoxAnswer) async -> BoxAnswer {
        if let interruption { return .interrupted(interruption) }
        let box = Task { await body() }
        flowBox = box
        let answer = await withTaskCancellationHandler {
            await box.value
        } onCancel: {
            box.cancel()
        }
        flowBox = nil
        if let interruption { return .interrupted(interruption) }
        return Task.isCancelled ? .interrupted(.appCancelled) : answer
    }

    func failure(_ answer: BoxAnswer) -> AuthenticationError {
        switch answer {
        case .cancelled, .fallback: AuthenticationError(.userCancel)
        case .timedOut: AuthenticationError(.systemCancel, cause: .timeout, remedy: .retry)
        case .failed(let error): AuthenticationError(error)
        case .interrupted(let interruption): interruption.error
        case .entered, .confirmed: AuthenticationError(.invalidParameter)
        }
    }
}

/// The channel on which a prompt was shown.
private final class ShownChannel: Sendable {
    private let noted = Guarded<PromptChannel?>(nil)

    var channel: PromptChannel? { noted.withLock { $0 } }

    func note(_ channel: PromptChannel?) { noted.withLock { $0 = channel } }
}

extension Prompt {
    init(
        _ input: Input,
        for request: PromptRequest,
        heading: String,
        error: String?,
        _ configuration: AuthenticationConfiguration
    ) {
        self.init(
            input,
            requester: request.caller.displayName,
            startedBy: request.caller.startedBy,
            reason: request.reason,
            details: request.details,
            heading: heading,
            error: error,
            cancelTitle: request.cancelTitle,
            fallbackTitles: [],
            timeout: configuration.promptTimeout
        )
    }
}
