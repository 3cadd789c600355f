public import KeychainModel

extension Keybag {
    /// Looks for damaged and outdated items; with `accepting`, makes the valid ones the present state.
    ///
    /// The former files are kept beside the new one. An older copy of the whole store is not damage: only the recovery
    /// code can accept it.
    public func repair(
        proof: AuthenticationProof,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair {
        await enterKeybag()
        defer { leaveKeybag() }
        let record = try authenticRecord()
        // The proof counts by the key it holds, not by its claim.
        guard standing.keybagKey != nil else { throw .locked }
        guard let key = proof.passcodeKey, PasscodeConstraint.publicKey(of: key) == record.passcodePublicKey
        else { throw KeychainError(.authFailed) }
        var generation = try items.knownGeneration()
        // If the items could not be read at the unlock, they were not compared with the hardware's counter then.
        if generation == nil { generation = try await hardwareGeneration(of: record) }
        let counted = SealedItems.HardwareCount(
            generation: generation,
            isAdopting: generation != nil && generation == record.hardware?.adoptsAt
        )
        // What is whole is examined part by part, so that others get their turn; damage, at one go.
        if let whole = items.wholeItems(counted, keybag: record.revision) { return whole }
        let repair = try items.repair(counted, keybag: record.revision, accepting: accepting)
        guard let aside = repair.keptAside else { return repair }
        if let generation = counted.generation {
            try await compareGenerations(with: generation, adopting: counted.isAdopting)
            // Restoring the former file must be detected.
            await items.countOn()
        }
        await complete()
        report(
            .tamperDetected,
            factors: [.passcode],
            detail: "items: repaired, \(repair.kept) kept, \(repair.missing) missing, former file \(aside)"
        )
        return repair
    }
}
