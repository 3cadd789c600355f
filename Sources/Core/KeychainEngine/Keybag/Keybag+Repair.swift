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
        let known = try items.knownGeneration()
        // If the items could not be read at the unlock, they were not compared with the hardware's counter then.
        var generation = known
        if known == nil { generation = try await hardwareGeneration(of: record) }
        let counted = SealedItems.HardwareCount(
            generation: generation,
            isAdopting: generation != nil && generation == record.hardware?.adoptsAt
        )
        let repair = try await items.repair(counted, keybag: record.revision, accepting: accepting)
        guard let aside = repair.keptAside else { return repair }
        if let generation = counted.generation {
            // A count that was known has followed the changes that others made meanwhile.
            if known == nil || counted.isAdopting {
                try await compareGenerations(with: generation, adopting: counted.isAdopting)
            } else {
                await items.settle()
            }
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
