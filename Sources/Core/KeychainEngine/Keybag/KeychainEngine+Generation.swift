internal import KeychainModel

/// The generation of the store, which hardware counts beside it: an older copy of the store is refused, and told
/// apart from damage.
///
/// The store counts on first, with a commit, then the hardware: a machine that stops in between finds the store one
/// ahead, and hardware follows. Between two counts an older copy of the same generation goes unnoticed; deleting what
/// is protected, a new passcode and new fingers count at once, all else after a hundred commits.
extension KeychainEngine {
    /// Whether store and hardware agree, so that the next commit may count on.
    var isGenerationInStep: Bool {
        guard let countedGeneration else { return false }
        return store?.itemSet.generation == countedGeneration
    }

    /// Whether the store counted on and hardware has yet to follow.
    var isGenerationBehind: Bool {
        guard let countedGeneration, let generation = store?.itemSet.generation else { return false }
        return generation > countedGeneration
    }

    /// What hardware has counted for a record's store; nil without hardware.
    ///
    /// - Throws: ``KeychainError`` when hardware does not answer, and when its counter is gone: then nothing says any
    ///   more that the store is the newest, and the recovery code has to.
    func hardwareGeneration(of record: KeybagRecord) async throws(KeychainError) -> UInt64? {
        guard let counters, let names = record.hardware else { return nil }
        return try await counters.generation(names.generation)
    }

    /// Compares the store's generation with what hardware counted; the keys are in memory.
    ///
    /// With `adopting` the store is what it is to be whatever it says: the counter is new, or the recovery code speaks
    /// for the store.
    func compareGenerations(with counted: UInt64, adopting: Bool) async throws(KeychainError) {
        // Damage has its own answer.
        guard let store, let context = try? context(), let generation = store.itemSet.generation else {
            // What the recovery code says of them holds for their repair.
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

    /// Counts on at once: something happened that no older copy may undo.
    func countOn() async {
        if growGeneration() { await settleGeneration() }
    }

    private func growGeneration() -> Bool {
        guard isGenerationInStep, let countedGeneration, let store, let context = try? context() else {
            return false
        }
        return (try? store.set(generation: countedGeneration + 1, context)) != nil
    }

    /// Has hardware follow a store that counted on; what fails is tried again with the next commit.
    func settleGeneration() async {
        guard !isSettlingGeneration, isGenerationBehind, let counters, let names = record?.hardware else {
            return
        }
        isSettlingGeneration = true
        defer { isSettlingGeneration = false }
        do throws(KeychainError) {
            // Commits that came meanwhile could not count on.
            repeat {
                countedGeneration = try await counters.advanceGeneration(names.generation)
            } while store?.isCountDue == true && growGeneration()
        } catch {
            report(.generationUncounted, detail: error.cause?.code ?? "")
        }
    }
}
