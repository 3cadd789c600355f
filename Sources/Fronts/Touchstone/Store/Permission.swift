extension SecretStore {
    /// What lets a call go ahead: a prompt now, the proof of a prompt before, or nothing that asks.
    ///
    /// A string literal is a prompt with that reason.
    public struct Permission: Sendable, ExpressibleByStringInterpolation {
        enum Kind: Sendable {
            case prompt(PromptText)
            case proof(Proof)
            case silent
        }

        let kind: Kind

        /// Asks the user, where the rule demands it or the keychain is locked.
        public static func prompt(_ text: PromptText) -> Permission { Permission(kind: .prompt(text)) }

        /// Goes ahead on what the user showed before; asks nobody.
        public static func proof(_ proof: Proof) -> Permission { Permission(kind: .proof(proof)) }

        /// Asks with ``PromptText/standard``.
        public static let standard = Permission(kind: .prompt(.standard))

        /// Asks nobody: what would have to ask throws `interactionNeeded`, or `locked`.
        public static let silent = Permission(kind: .silent)

        /// Asks with a reason.
        public init(stringLiteral reason: String) { self.init(kind: .prompt(PromptText(reason))) }

        private init(kind: Kind) { self.kind = kind }

        /// The prompt; nil where none may be shown.
        var prompt: PromptText? {
            guard case .prompt(let text) = kind else { return nil }
            return text
        }

        /// - Throws: ``TouchstoneError``: the prompt's limits, or `proofEnded`.
        func check() throws(TouchstoneError) {
            switch kind {
            case .prompt(let text): try text.check()
            case .proof(let proof): try proof.checkIsValid()
            case .silent: break
            }
        }
    }
}
