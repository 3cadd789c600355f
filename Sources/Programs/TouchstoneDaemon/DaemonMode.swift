/// Under whose account the daemon runs.
package enum DaemonMode: Sendable {
    /// Under its owner's: everything is found by the environment, and prompts are drawn by a program of its own.
    case perUser
    /// Under an account of its own, for the owner that `--owner` names: all places are fixed, the administrator's
    /// settings alone count, the service manager makes the socket, and nothing of a user's session is used.
    case system
}
