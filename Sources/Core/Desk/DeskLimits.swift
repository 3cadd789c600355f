/// What callers may have of the daemon, by whatever door they came.
package struct DeskLimits: Sendable {
    /// Contexts of one visit that hold something; beyond, the one that was used longest ago is wiped.
    package var contextsPerVisit = 256
    /// Proofs that a context keeps, the newest ones.
    package var proofsPerContext = 16
    /// How often a call may ask the user before it gives up, as often as Apple's.
    package var authenticationRounds = 20
    /// Locked memory that all requests may hold together, in bytes.
    package var lockedOctets = LockedMemoryBudget.octetsAllowed()
    /// The longest request of any door, in bytes: one always finds locked memory.
    package var longestRequest: Int
    /// Locked memory that the application passwords of all contexts may hold together, in bytes.
    package var passwordOctets = 256 << 10
    /// The longest application password, in bytes.
    package var longestPassword = 1024
    /// The time in which the same failure of the same method is told to the log once.
    package var failurePause = Duration.seconds(60)

    /// The limits that the daemon works with, whose longest request its doors know.
    package init(longestRequest: Int) { self.longestRequest = longestRequest }
}
