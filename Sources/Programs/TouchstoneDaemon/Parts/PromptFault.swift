import KeychainModel

/// Tells, for `status`, why no prompt could be shown.
struct PromptFault: Sendable {
    private let prompter: any SecretPrompter

    init(_ prompter: any SecretPrompter) { self.prompter = prompter }

    /// The fault for a request from there; without a place, only what would fail anywhere.
    func callAsFunction(at origin: PromptOrigin?) async -> String? {
        do throws(PromptError) {
            try await prompter.checkCanPrompt(at: origin ?? PromptOrigin())
            return nil
        } catch {
            if origin == nil, error.code == .notInteractive || error.code == .noAgent { return nil }
            return error.detail.isEmpty ? error.code.rawValue : "\(error.code.rawValue): \(error.detail)"
        }
    }
}
