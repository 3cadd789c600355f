internal import KeychainModel
internal import Primitives

/// The generation of the store, which the hardware counts as well: an older copy of the store is refused, and
/// distinguished from damage.
///
/// The store increments first, with a commit, then the hardware: after a crash in between, the store is one ahead, and
/// the hardware follows. Between two increments an older copy of the same generation is not detected; deleting a
/// protected item, a new passcode and new fingers increment at once, other changes after a hundred commits.
extension SealedItems {
    /// Whether the items are as the hardware counted them.
    enum Comparison {
        /// The items cannot be read: damage is reported separately.
        case unreadable
        /// They are an older copy.
        case older
        /// They are the current ones, or were accepted as such.
        case current
    }

    /// Compares the store's generation with the hardware's count; the keys must be in memory.
    ///
    /// With `adopting` the store is accepted whatever its generation: the counter is new, or the recovery code was
    /// entered.
    func compare(with counted: UInt64, adopting: Bool) throws(KeychainError) -> Comparison {
        try withState { (state) throws(KeychainError) in
            try compare(&state, with: counted, adopting: adopting)
        }
    }

    func compare(
        _ state: inout State,
        with counted: UInt64,
        adopting: Bool
    ) throws(KeychainError) -> Comparison {
        guard let store = state.store, let context = try? keys.context(),
            let generation = store.itemSet.generation
        else { return .unreadable }
        if adopting {
            // The hardware follows: its present value accepts no store a second time.
            try store.set(generation: counted &+ 1, context)
        } else if generation != counted, generation != counted &+ 1 {
            state.fault = KeychainError(.decode, cause: .rolledBack, remedy: .recover)
            report(
                .tamperDetected,
                detail: "items: of generation \(generation), hardware counted \(counted)"
            )
            return .older
        }
        if state.fault?.cause == .rolledBack { state.fault = nil }
        state.countedGeneration = counted
        return .current
    }

    /// Increments the generation at once, after a change that no older copy may undo.
    func countOn() async {
        if withState({ grow(&$0) }) { await settle() }
    }

    /// The revision of the keybag that the items noted last, with the keys in memory; nil if they cannot be read.
    func knownKeybag() -> UInt64? { withState { $0.store?.itemSet.digest?.keybag } }

    /// The same before any key is in memory; `setKey` is the keybag's key of the set.
    func knownKeybag(_ setKey: Key, storeID: [UInt8]) -> UInt64? {
        withState { state in
            guard let store = state.store else { return nil }
            if let digest = store.itemSet.digest { return digest.keybag }
            return try? store.readDigest(with: setKey.symmetric, storeID: storeID)?.keybag
        }
    }

    /// Notes the revision of a keybag that was written, and increments the generation with it.
    func countOn(keybag revision: UInt64) async {
        let isNoted = withState { state in
            guard state.fault == nil, let store = state.store, let context = try? keys.context(),
                let digest = store.itemSet.digest
            else { return false }
            let generation = digest.generation + (state.isGenerationInStep ? 1 : 0)
            return (try? store.set(generation: generation, keybag: revision, context)) != nil
        }
        if isNoted { await settle() }
    }

    /// Advances the hardware's counter after the store's; a failure is retried with the next commit.
    public func settle() async {
        guard let counters, let name = keys.current.counter else { return }
        let isMine = withState { state in
            guard !state.isSettlingGeneration, state.isGenerationBehind else { return false }
            state.isSettlingGeneration = true
            return true
        }
        guard isMine else { return }
        defer { withState { $0.isSettlingGeneration = false } }
        do throws(KeychainError) {
            var isBehind = true
            while isBehind {
                let counted = try await counters.advanceGeneration(name)
                // Commits made meanwhile could not increment the generation.
                isBehind = withState { state in
                    state.countedGeneration = counted
                    return state.store?.isCountDue == true && grow(&state)
                }
            }
        } catch {
            report(.generationUncounted, detail: error.cause?.code ?? "")
        }
    }

    private func grow(_ state: inout State) -> Bool {
        guard state.isGenerationInStep, let counted = state.countedGeneration, let store = state.store,
            let context = try? keys.context()
        else { return false }
        return (try? store.set(generation: counted + 1, context)) != nil
    }
}

extension SealedItems.State {
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
}
