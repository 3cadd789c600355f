import Desk

/// What clients may have of the socket; everything from outside is limited where it is read.
package struct RequestLimits: Sendable {
    /// Connections of one user at a time; the next one is refused.
    package var connectionsPerUser = 256
    /// Connections of one user's agents at a time.
    package var agentConnections = 72
    /// The time in which the first request must have arrived.
    package var helloDeadline = Duration.seconds(5)
    /// The time in which a frame must have arrived, from its first byte on.
    package var frameDeadline = Duration.seconds(5)
    /// The time in which a peer must have taken a reply.
    package var replyDeadline = Duration.seconds(5)
    /// The time in which the log is told once that a user has too many connections.
    package var refusalPause = Duration.seconds(60)
    /// Requests of one connection that run at a time; the next ones stay unread.
    package var requestsPerConnection = 32

    /// The limits that the daemon works with.
    package init() {}

    /// Connections of one user at a time, by what they are.
    func connections(of role: AskerRole) -> Int { role == .agent ? agentConnections : connectionsPerUser }
}
