/// The account that the daemon runs under.
package enum DaemonMode: Sendable {
    /// Under its owner's account: all paths come from the environment, and the daemon starts the pinentry program
    /// itself.
    case perUser
    /// Under a dedicated account, for the owner that `--owner` names: all paths are fixed, only the administrator's
    /// settings apply, the service manager makes the socket, and the user's session is not used.
    case system
}
