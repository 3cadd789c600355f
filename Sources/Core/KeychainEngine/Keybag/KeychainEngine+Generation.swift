internal import KeychainModel

/// The generation of the store, which the hardware counts as well: an older copy of the store is refused, and
/// distinguished from damage.
///
/// The store increments first, with a commit, then the hardware: after a crash in between, the store is one ahead, and
/// the hardware follows. Between two increments an older copy of the same generation is not detected; deleting a
/// protected item, a new passcode and new fingers increment at once, other changes after a hundred commits.
extension KeychainEngine {
    /// Whether store and hardware agree, so that the next commit may increment the generation.
    var isGenerationInStep: Bool {
        guard let countedGeneration else { return false }
        return store?.itemSet.generation == countedGeneration
    }

    /// Whether the store was incremented and the hardware has yet to follow.
    var isGenerationBehind: Bool {
        guard let countedGeneration, let generation = store?.itemSet.generation else { return false }
        return generation > countedGeneration
    }

    /// The hardware's count for a record's store; nil without hardware.
    ///
    /// - Throws: ``KeychainError`` if the hardware does not answer, or if its counter is gone: then the store cannot be
    ///   proved current, and the recovery code is needed.
    func hardwareGeneration(of record: KeybagRecord) async throws(KeychainError) -> UInt64? {
        guard let counters, let names = record.hardware else { return nil }
        return try await counters.generation(names.generation)
    }

    /// Compares the store's generation with the hardware's count; the keys must be in memory.
    ///
    /// With `adopting` the store is accepted whatever its generation: the counter is new, or the recovery code was
    /// entered.
    func compareGenerations(with counted: UInt64, adopting: Bool) async throws(KeychainError) {
        // Damage is reported separately.
        guard let store, let context = try? context(), let generation = store.itemSet.generation else {
            // The acceptance by the recovery code also applies to a later repair of the items.
            if adopting, var record, record.hardware?.isAdopted == true {
                record.hardware?.isAdopted = false
                try writeKeybag(record)
            }
            return
        }
        if adopting {
            try store.set(generation: counted, context)
            if var record, record.hardware?.isAdopted == false {
                record.hardware?.isAdopted = true
                try writeKeybag(record)
            }
        } else if generation != counted, generation != counted &+ 1 {
            storeFault = KeychainError(.decode, cause: .rolledBack, remedy: .recover)
            report(.tamperDetected, detail: "items: of generation \(generation), hardware counted \(counted)")
            return
        }
        if storeFault?.cause == .rolledBack { storeFault = nil }
        countedGeneration = counted
        await settleGeneration()
    }

    /// Increments the generation at once, after a change that no older copy may undo.
    func countOn() async {
        if growGeneration() { await settleGeneration() }
    }

    private func growGeneration() -> Bool {
        guard isGenerationInStep, let countedGeneration, let store, let context = try? context() else {
            return false
        }
        return (try? store.set(generation: countedGeneration + 1, context)) != nil
    }

    /// Advances the hardware's counter after the store's; a failure is retried with the next commit.
    func settleGeneration() async {
        guard !isSettlingGeneration, isGenerationBehind, let counters, let names = record?.hardware else {
            return
        }
        isSettlingGeneration = true
        defer { isSettlingGeneration = false }
        do throws(KeychainError) {
            // Commits made meanwhile could not increment the generation.
            repeat {
                countedGeneration = try await counters.advanceGeneration(names.generation)
            } while store?.isCountDue == true && growGeneration()
        } catch {
            report(.generationUncounted, detail: error.cause?.code ?? "")
        }
    }
}
