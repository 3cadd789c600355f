extension SessionTable {
    /// Whether a prompt of a login would be shown behind the session that a seat shows now.
    ///
    /// | the login's session | away |
    /// |---|---|
    /// | has a seat, active | no |
    /// | has a seat, not active | yes |
    /// | has no seat (ssh, remote desktop) | no |
    /// | is closing: the user logged out, and what is left is tmux or the like | as without a session |
    /// | none (user services, containers, cron, another user's login) | only if the user has sessions, and each has a seat \
    /// and is not active |
    ///
    /// Several sessions of one login are away if all of them are.
    ///
    /// - Parameter login: the kernel's audit session; nil if it is unknown.
    /// - Returns: false without any session.
    package func isAway(_ login: UInt32?) -> Bool {
        let own = login.map { login in live.filter { $0.login == login } } ?? []
        let judged = own.isEmpty ? live : own
        return !judged.isEmpty && judged.allSatisfy(\.isBehind)
    }

    /// Whether a session of a login is known; true for no login.
    package func has(_ login: UInt32?) -> Bool {
        login == nil || sessions.values.contains { $0.login == login }
    }
}
