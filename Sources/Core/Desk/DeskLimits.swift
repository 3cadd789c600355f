/// The resources that callers may use, through any door.
package struct DeskLimits: Sendable {
    /// The most contexts of one visit in memory; beyond, the least recently used is wiped.
    package var contextsPerVisit = 256
    /// The most proofs that a context keeps, the newest ones.
    package var proofsPerContext = 16
    /// How often a call may prompt the user before it fails, as Apple's.
    package var authenticationRounds = 20
    /// Locked memory that all requests may hold together, in bytes.
    package var lockedOctets = LockedMemoryBudget.octetsAllowed()
    /// The longest request of any door, in bytes: locked memory for one is always available.
    package var longestRequest: Int
    /// Locked memory that the application passwords of all contexts may hold together, in bytes.
    package var passwordOctets = 256 << 10
    /// The longest application password, in bytes.
    package var longestPassword = 1024
    /// How often a call prompts for an application password.
    package var passwordTries = 3
    /// The interval in which the same failure of the same method is logged once.
    package var failurePause = Duration.seconds(60)

    /// The daemon's default limits; the doors know their longest request.
    package init(longestRequest: Int) { self.longestRequest = longestRequest }
}
