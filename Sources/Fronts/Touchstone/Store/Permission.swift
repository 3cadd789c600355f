extension SecretStore {
    /// How a call is authorised: by a prompt, by the proof of an earlier prompt, or without asking.
    ///
    /// A string literal is a prompt with that reason.
    public struct Permission: Sendable, ExpressibleByStringInterpolation {
        enum Kind: Sendable {
            case prompt(PromptText)
            case proof(Proof)
            case silent
        }

        let kind: Kind

        /// Asks the user, if the rule requires it or the keychain is locked.
        public static func prompt(_ text: PromptText) -> Permission { Permission(kind: .prompt(text)) }

        /// Uses the proof of an earlier prompt; shows none.
        public static func proof(_ proof: Proof) -> Permission { Permission(kind: .proof(proof)) }

        /// Asks with ``PromptText/standard``.
        public static let standard = Permission(kind: .prompt(.standard))

        /// Shows no prompt: a call that would need one throws `interactionNeeded` or `locked`.
        public static let silent = Permission(kind: .silent)

        /// Asks with a reason.
        public init(stringLiteral reason: String) { self.init(kind: .prompt(PromptText(reason))) }

        private init(kind: Kind) { self.kind = kind }

        /// The prompt; nil if none may be shown.
        var prompt: PromptText? {
            guard case .prompt(let text) = kind else { return nil }
            return text
        }

        /// - Throws: ``TouchstoneError``: `limitExceeded` for the prompt, or `proofEnded`.
        func check() throws(TouchstoneError) {
            switch kind {
            case .prompt(let text): try text.check()
            case .proof(let proof): try proof.checkIsValid()
            case .silent: break
            }
        }
    }
}
