package import KeychainModel

/// The call that inspects and repairs damaged items.
extension Visit {
    /// Prompts for the passcode, then inspects or repairs; reports progress to ``WorkProgress/current``.
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
        return try await services.keybag.repair(proof: proof, accepting: request.accepts)
    }
}
