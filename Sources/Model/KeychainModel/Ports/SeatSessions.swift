/// The user's login sessions on the seats of this machine: whether a prompt would be in front of the user.
///
/// A seat has one active session at a time; the others are behind it, after a switch of users or of virtual terminals.
/// A session without a seat, such as one over ssh, is never away.
///
/// ```swift
/// guard await !seats.isAway(login) else { throw AuthenticationError(.systemCancel, cause: .sessionInactive) }
/// ```
public protocol SeatSessions: Sendable {
    /// Whether a prompt of a login would be shown in a session that is not active on its seat.
    ///
    /// - Parameter login: the kernel's audit session of the place where the prompt is shown; nil if that is unknown.
    /// - Returns: false also if sessions are unknown, as without logind.
    func isAway(_ login: UInt32?) async -> Bool

    /// Waits until ``isAway(_:)`` is true.
    ///
    /// - Parameter login: the kernel's audit session; nil if it is unknown.
    /// - Returns: false if the task was cancelled before.
    func waitUntilAway(_ login: UInt32?) async -> Bool
}
