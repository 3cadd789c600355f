import KeychainModel

/// Tells `status` why no prompt could be shown.
struct PromptFault: Sendable {
    private let prompter: any SecretPrompter

    init(_ prompter: any SecretPrompter) { self.prompter = prompter }

    /// Why a prompt could not be shown at `origin`; without an origin, only what would fail everywhere.
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
