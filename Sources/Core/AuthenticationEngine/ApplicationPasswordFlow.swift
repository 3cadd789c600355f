public import KeychainModel
public import SecretMemory

/// Asks for the password of an item or a key, which is not the keychain's passcode.
extension AuthenticationEngine {
    /// Asks for an application password, twice for a new one.
    ///
    /// The keychain cannot tell whether it is right: only what it opens can. Opens nothing, and counts as no attempt of the
    /// passcode.
    public func applicationPassword(
        _ purpose: ApplicationPasswordPurpose,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> SecretBytes {
        let typed = try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.counting(request) { () async throws(AuthenticationError) in
                try await self.usablePassword(purpose, request)
            }
        }
        return typed.octets.copy()
    }

    private func usablePassword(
        _ purpose: ApplicationPasswordPurpose,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> TypedSecret {
        var message = purpose.error
        for _ in 0..<Self.codeTries {
            var prompt = Prompt(
                purpose == .sealing ? .newSecret : .secret,
                for: request,
                heading: purpose.heading,
                error: message,
                configuration
            )
            prompt.fieldLabel = "Application password:"
            let typed = try await entered(prompt, request)
            if typed.isUsable { return typed }
            message = "An application password has 1 to \(TypedSecret.longestByteCount) bytes."
        }
        throw AuthenticationError(.authenticationFailed, remedy: .retry)
    }
}

extension ApplicationPasswordPurpose {
    fileprivate var heading: String {
        switch self {
        case .opening, .openingAgain:
            "Enter the application password of what the program opens. It is not the keychain's passcode."
        case .sealing:
            "Choose an application password for what the program stores. "
                + "It is needed whenever that is opened, and cannot be recovered."
        }
    }

    fileprivate var error: String? { self == .openingAgain ? "This is not its application password." : nil }
}
