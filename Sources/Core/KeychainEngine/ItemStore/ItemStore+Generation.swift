internal import KeychainModel

/// The generation, which hardware counts too: an older copy of the whole file shows.
extension ItemStore {
    /// What a commit does with a generation that is to grow.
    enum Counting {
        /// Has it grow: hardware then has to follow before anything is reported done.
        case on
        /// Leaves that to a later commit: there is no hardware, or it has yet to follow an earlier one.
        case later
        /// Changes nothing.
        case refused
    }

    /// After how many commits the generation grows at the latest; each wears the hardware's memory.
    static let mostUncountedCommits = 100

    /// Whether the generation is to grow with the next commit that may count on.
    var isCountDue: Bool { hasRemovedProtected || commitsSinceCount >= Self.mostUncountedCommits }

    func hasCounted() {
        hasRemovedProtected = false
        commitsSinceCount = 0
    }

    /// Gives the store a generation, durably.
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
