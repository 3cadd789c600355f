import KeychainClient
package import KeychainModel

/// The prompt settings of a request, from its `kSecUse…` keys.
package struct PromptWishes: @unchecked Sendable {  // contexts are thread-safe
    /// `kSecUseAuthenticationContext`.
    package var context: (any AuthenticationContextProviding)?
    /// `kSecUseOperationPrompt`.
    package var reason: String?
    /// Whether a prompt may be shown.
    package var interactionAllowed = true

    package init() {}

    /// The context's number and the prompt's fields at this moment.
    ///
    /// - Throws: `errSecAuthFailed` if the context was invalidated.
    package func describe() throws(KeychainError) -> (context: UInt64?, prompt: PromptFields) {
        let description = try context?.describeForKeychain()
        var prompt = description?.prompt ?? PromptFields(origin: KeychainConnection.originOfNow)
        if let reason { prompt.reason = reason }
        if !interactionAllowed { prompt.interactionAllowed = false }
        return (description?.number, prompt)
    }
}
