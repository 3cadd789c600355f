/// What clients may have of the daemon; everything from outside is limited where it is read.
public struct RequestLimits: Sendable {
    /// Connections of one user at a time; the next one is refused.
    public var connectionsPerUser = 256
    /// The time in which the first request must have arrived.
    public var helloDeadline = Duration.seconds(5)
    /// The time in which a frame must have arrived, from its first byte on.
    public var frameDeadline = Duration.seconds(5)
    /// The time in which a peer must have taken a reply.
    public var replyDeadline = Duration.seconds(5)
    /// The time in which the log is told once that a user has too many connections.
    public var refusalPause = Duration.seconds(60)
    /// Contexts of one connection that hold something; beyond, the one that was used longest ago is wiped.
    public var contextsPerConnection = 256
    /// Proofs that a context keeps, the newest ones.
    public var proofsPerContext = 16
    /// Requests of one connection that run at a time; the next ones stay unread.
    public var requestsPerConnection = 32
    /// How often a call may ask the user before it gives up, as often as Apple's.
    public var authenticationRounds = 20
    /// Locked memory that all requests may hold together, in bytes.
    public var lockedOctets = LockedMemoryBudget.octetsAllowed()
    /// Locked memory that the application passwords of all contexts may hold together, in bytes.
    public var passwordOctets = 256 << 10
    /// The longest application password, in bytes.
    public var longestPassword = 1024
    /// The time in which the same failure of the same method is told to the log once.
    public var failurePause = Duration.seconds(60)

    /// The limits that the daemon works with.
    public init() {}
}
