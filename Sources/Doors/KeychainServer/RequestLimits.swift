import Desk

/// The limits of a client's connections and requests; all external input is limited where it is read.
package struct RequestLimits: Sendable {
    /// Connections of one user at a time; the next one is refused.
    package var connectionsPerUser = 256
    /// Connections of one user's agents at a time.
    package var agentConnections = 72
    /// Connections of one user's doors at a time.
    package var doorConnections = 512
    /// How long the first request may take to arrive.
    package var helloDeadline = Duration.seconds(5)
    /// How long a frame may take to arrive, from its first byte on.
    package var frameDeadline = Duration.seconds(5)
    /// How long the peer of a long frame may send nothing while others wait for the memory of requests.
    package var stallPause = Duration.milliseconds(250)
    /// How long a peer may take to accept a reply.
    package var replyDeadline = Duration.seconds(5)
    /// The interval in which the log records at most once that the socket's path no longer leads to it.
    package var refusalPause = Duration.seconds(60)
    /// Requests of one connection that run at a time; further ones stay unread.
    package var requestsPerConnection = 32

    /// The limits that the daemon uses.
    package init() {}

    /// Connections of one user at a time, by role.
    func connections(of role: AskerRole) -> Int {
        switch role {
        case .app: connectionsPerUser
        case .agent: agentConnections
        case .door: doorConnections
        }
    }
}
