internal import KeychainModel

/// How large the store's parts and the store get.
struct StoreLimits {
    /// How many groups a section of the set has at most.
    let groupsInSection: Int
    /// How many items there may be before an add is refused.
    let items: Int

    /// Nil stands for what a daemon has.
    init(groupsInSection: Int? = nil, items: Int? = nil) {
        self.groupsInSection = groupsInSection ?? ItemSetDigest.mostGroups
        self.items = items ?? ItemLimits.mostItems
    }

    /// Refuses more items than there may be.
    func check(items count: Int) throws(KeychainError) {
        guard count <= items else {
            throw KeychainError(.diskFull, cause: DriverCause(.storeFull, detail: "\(items)"))
        }
    }
}
