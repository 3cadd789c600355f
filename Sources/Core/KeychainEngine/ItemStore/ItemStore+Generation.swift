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

    /// Sets the generation, durably.
    func set(generation: UInt64, _ context: ItemContext) throws(KeychainError) {
        try reopenIfNeeded(context)
        guard let digest = itemSet.digest, digest.generation != generation else { return }
        try changeSet(context) {
            itemSet.digest?.generation = generation
            return true
        }
        hasCounted()
    }
}
