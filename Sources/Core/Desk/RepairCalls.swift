package import KeychainModel

/// The call that looks at damaged items, and repairs them.
extension Visit {
    /// Asks for the passcode, and has the vault look or repair; ``WorkProgress/current`` is told how far it is.
    package func repair(_ request: RepairRequest) async throws(KeychainError) -> StoreRepair {
        try await serving(.repair) { () async throws(KeychainError) in try await repairStore(request) }
    }

    private func repairStore(_ request: RepairRequest) async throws(KeychainError) -> StoreRepair {
        guard request.prompt.interactionAllowed else {
            throw KeychainError(AuthenticationError(.notInteractive))
        }
        let heading =
            request.accepts
            ? "Enter the keychain's passcode to accept its items as they are now"
            : "Enter the keychain's passcode to see what is wrong with its items"
        let proof = try await asking { () async throws(AuthenticationError) in
            try await services.authenticator.confirm(self.request(request.prompt), heading: heading)
        }
        return try await services.vault.repair(proof: proof, accepting: request.accepts)
    }
}
