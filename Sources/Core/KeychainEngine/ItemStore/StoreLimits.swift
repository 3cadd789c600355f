internal import KeychainModel

/// The size limits of the store and its parts.
struct StoreLimits {
    /// The most groups of a section of the set.
    let groupsInSection: Int
    /// The most items; further additions are refused.
    let items: Int

    /// Creates limits; nil stands for a daemon's default.
    init(groupsInSection: Int? = nil, items: Int? = nil) {
        self.groupsInSection = groupsInSection ?? ItemSetDigest.mostGroups
        self.items = items ?? ItemLimits.mostItems
    }

    /// Refuses more items than allowed.
    func check(items count: Int) throws(KeychainError) {
        guard count <= items else {
            throw KeychainError(.diskFull, cause: DriverCause(.storeFull, detail: "\(items)"))
        }
    }
}
