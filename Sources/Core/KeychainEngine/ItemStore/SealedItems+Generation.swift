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

    /// Advances the hardware's counter after the store's; a failure is told, and tried again until it succeeds.
    ///
    /// - Returns: whether the hardware counted all changes so far.
    @discardableResult
    public func settle() async -> Bool {
        guard let counters, let name = keys.current.counter else { return true }
        switch withState({ $0.takeTurn() }) {
        case .none:
            noteInStep()
            return true
        case .others: return await settledByOthers()
        case .mine: break
        }
        var failure: KeychainError?
        do throws(KeychainError) {
            var isBehind = true
            if isUncounted {
                // The answer alone may have been lost: a second increment would make the store an older copy.
                let counted = try await counters.generation(name)
                isBehind = withState { state in
                    state.countedGeneration = counted
                    return state.isGenerationBehind
                }
            }
            while isBehind {
                let counted = try await counters.advanceGeneration(name)
                // Commits made meanwhile could not increment the generation.
                isBehind = withState { state in
                    state.countedGeneration = counted
                    return state.store?.isCountDue == true && grow(&state)
                }
            }
        } catch {
            failure = error
        }
        noteCounting(failure)
        return failure == nil
    }

    /// Waits for the one who advances the counter now, who looks for changes made meanwhile.
    private func settledByOthers() async -> Bool {
        await withCheckedContinuation { continuation in
            let isCounted: Bool? = withState { state in
                guard !state.isSettlingGeneration else {
                    state.settled.append(continuation)
                    return nil
                }
                return !state.isGenerationBehind
            }
            if let isCounted { continuation.resume(returning: isCounted) }
        }
    }

    /// Ends the report of an uncounted change that was counted after all: only the answer had been lost.
    private func noteInStep() {
        let wasUncounted = withState { state in
            let isOver = state.isUncounted && !state.isSettlingGeneration && state.isGenerationInStep
            if isOver { state.isUncounted = false }
            return isOver
        }
        if wasUncounted { report(.generationCounted) }
    }

    /// Tells who waits for the hardware's count, and tries again later if it failed.
    private func noteCounting(_ failure: KeychainError?) {
        let (waiting, wasUncounted) = withState { state in
            defer {
                state.isSettlingGeneration = false
                state.settled = []
                state.isUncounted = failure != nil
                if failure != nil { countLater(&state) }
            }
            return (state.settled, state.isUncounted)
        }
        for continuation in waiting { continuation.resume(returning: failure == nil) }
        if let failure {
            if !wasUncounted { report(.generationUncounted, detail: failure.cause?.code ?? "") }
        } else if wasUncounted {
            report(.generationCounted)
        }
    }

    private func countLater(_ state: inout State) {
        guard state.counting == nil else { return }
        state.counting = delays.retrying { [weak self] in
            guard let self else { return true }
            guard await settle() else { return false }
            withState { $0.counting = nil }
            return true
        }
    }

    /// Whether the hardware failed to count changes that no older copy may undo, and has not made up for it.
    var isUncounted: Bool { withState { $0.isUncounted } }

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

    enum Turn { case mine, others, none }

    /// Whose turn it is to let the hardware follow.
    mutating func takeTurn() -> Turn {
        guard !isSettlingGeneration else { return .others }
        guard isGenerationBehind else { return .none }
        isSettlingGeneration = true
        return .mine
    }
}
