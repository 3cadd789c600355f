internal import KeychainModel

/// The generation, which hardware counts as well: an older copy of the whole file is detected by it.
extension ItemStore {
    /// What a commit does if the generation is due to grow.
    enum Counting {
        /// Increments it: hardware must follow before any change is reported as done.
        case on
        /// Leaves that to a later commit: there is no hardware, or it has yet to follow an earlier increment.
        case later
    }

    /// The most commits between two increments; each increment wears the hardware's memory.
    static let mostUncountedCommits = 100

    /// Whether the generation must grow with the next commit that may increment it.
    var isCountDue: Bool { hasRemovedProtected || commitsSinceCount >= Self.mostUncountedCommits }

    func hasCounted() {
        hasRemovedProtected = false
        commitsSinceCount = 0
    }

    /// Sets the generation and, unless it is nil, the noted revision of the keybag; durably.
    func set(
        generation: UInt64,
        keybag: UInt64? = nil,
        _ context: ItemContext
    ) throws(KeychainError) {
        try reopenIfNeeded(context)
        guard let digest = itemSet.digest else { return }
        let keybag = keybag ?? digest.keybag
        guard digest.generation != generation || digest.keybag != keybag else { return }
        try changeSet(context) {
            itemSet.digest?.generation = generation
            itemSet.digest?.keybag = keybag
            return true
        }
        if digest.generation != generation { hasCounted() }
    }
}
