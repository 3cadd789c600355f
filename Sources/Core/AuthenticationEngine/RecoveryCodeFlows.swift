public import KeychainModel
import SecretMemory

/// Flows with the recovery code: opening the keybag with it, replacing it, checking it.
extension AuthenticationEngine {
    /// Asks for the recovery code, then twice for a new passcode, and opens the keybag with it.
    public func recover(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.checkRecoverable()
            try await self.counting(request) { () async throws(AuthenticationError) in
                let code = try await self.acceptedRecoveryCode(request)
                let passcode = try await self.newPasscode("Choose a new passcode for the keychain", request)
                try await self.changing { keybag async throws(KeychainError) in
                    try await keybag.recover(code: code.octets, newPasscode: passcode.octets.copy())
                }
            }
        }
    }

    /// Asks for the passcode, then shows a new recovery code and has it typed back, and replaces the former one.
    public func changeRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            let proof = try await self.ask(
                EvaluationDemand(policyRequirement: .passcode),
                for: request,
                heading: "Enter the keychain's passcode to replace its recovery code"
            )
            try await self.wait(before: .recoveryCode)
            try await self.counting(request) { () async throws(AuthenticationError) in
                let code = try await self.confirmedCode(
                    "Write down this new recovery code. It takes the place of the former one once you have typed it "
                        + "back, and it is not shown again.",
                    typingBack: "Type the recovery code that you wrote down",
                    request
                )
                try await self.changing { keybag async throws(KeychainError) in
                    try await keybag.changeRecoveryCode(to: code.octets, proof: proof)
                }
            }
            await self.credentialGuard?.made(.recoveryCode)
        }
    }

    /// Asks for the recovery code until it is right; changes nothing.
    public func checkRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError) {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.checkRecoverable()
            try await self.counting(request) { () async throws(AuthenticationError) in
                _ = try await self.acceptedRecoveryCode(request)
            }
        }
    }

    // MARK: Steps

    /// Shows a new code until the user has typed it back.
    func confirmedCode(
        _ heading: String,
        typingBack: String,
        fieldLabel: String = "Recovery code:",
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> TypedSecret {
        let code: TypedSecret
        do {
            code = TypedSecret(try keybag.makeRecoveryCode())
        } catch {
            throw AuthenticationError(keychain: error)
        }
        var message: String?
        for _ in 0..<Self.codeTries {
            let box = Prompt(
                .confirmation,
                for: request,
                heading: heading,
                error: message,
                configuration
            )
            switch await shown(code, box, request) {
            case .confirmed, .entered: break
            case let other: throw failure(other)
            }
            let typed = try await typedCode(typingBack, nil, fieldLabel, request)
            if typed.octets.matches(RecoveryCodeText.canonical(code.octets)) { return code }
            message = "That was another code. Compare what you wrote down."
        }
        throw AuthenticationError(.authenticationFailed, cause: .recoveryCode, remedy: .retry)
    }

    func acceptedRecoveryCode(_ request: PromptRequest) async throws(AuthenticationError) -> TypedSecret {
        try await acceptedRecoveryCode(
            request,
            heading: "Type the keychain's recovery code",
            refusal: "That is not the recovery code of this keychain."
        ) { code async throws(KeychainError) in
            try await self.keybag.accepts(recoveryCode: code.octets)
        }
    }

    /// Asks for a recovery code until it is accepted.
    func acceptedRecoveryCode(
        _ request: PromptRequest,
        heading: String,
        refusal: String,
        _ accepts: (TypedSecret) async throws(KeychainError) -> Bool
    ) async throws(AuthenticationError) -> TypedSecret {
        var message: String?
        for _ in 0..<Self.codeTries {
            let typed = try await typedCode(heading, message, "Recovery code:", request)
            do {
                if try await accepts(typed) { return typed }
                message = refusal
            } catch {
                guard error.cause == .mistypedRecoveryCode else { throw AuthenticationError(keychain: error) }
                message = "That is no recovery code. Compare it with what you wrote down."
            }
        }
        throw AuthenticationError(.authenticationFailed, cause: .recoveryCode, remedy: .retry)
    }

    /// Asks for a code and returns it in the keybag's canonical form.
    private func typedCode(
        _ heading: String,
        _ message: String?,
        _ fieldLabel: String,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> TypedSecret {
        var prompt = Prompt(.secret, for: request, heading: heading, error: message, configuration)
        prompt.fieldLabel = fieldLabel
        return TypedSecret(RecoveryCodeText.canonical(try await entered(prompt, request).octets))
    }
}
