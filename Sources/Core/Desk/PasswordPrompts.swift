import KeychainModel
import SecretMemory

/// Prompts for the application passwords that calls lack.
extension Visit {
    /// Prompts for an application password if a call failed because its context has none, or one that was typed and is wrong.
    ///
    /// The password stays in the context, as one that the app sets, until the keybag is locked. A password that the app itself set
    /// is never replaced.
    ///
    /// - Parameters:
    ///   - error: the error of the call.
    ///   - prompts: the call's prompts.
    /// - Returns: whether to make the call again.
    /// - Throws: ``KeychainError`` with the error of the prompt, `errSecUserCanceled` if it was cancelled, and `errSecAllocate` if
    ///   no locked memory is left for the password.
    func askPassword(
        after error: KeychainError,
        _ prompts: inout PromptBudget
    ) async throws(KeychainError) -> Bool {
        guard prompts.mayAsk, let context = prompts.context else { return false }
        let purpose: ApplicationPasswordPurpose
        switch error.cause {
        case DriverCause.applicationPasswordMissing?: purpose = .opening
        case DriverCause.newApplicationPasswordMissing?: purpose = .sealing
        case DriverCause.applicationPasswordWrong?:
            guard contexts.forgetTypedPassword(of: context) else { return false }
            // One that was typed for an earlier call of the context may be that of another item.
            purpose = prompts.passwordTries > 0 ? .openingAgain : .opening
        default: return false
        }
        guard prompts.passwordTries < limits.passwordTries else { return false }
        prompts.passwordTries += 1
        checkAsker()
        let request = request(prompts.prompt)
        let password = try await asking { () async throws(AuthenticationError) in
            try await services.authenticator.applicationPassword(purpose, request)
        }
        try requireSameAsker()
        try contexts.keep(typed: password, in: context)
        return true
    }
}
