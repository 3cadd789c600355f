import Glibc

/// The key that stops a program, usually Ctrl-Z.
enum StopKey {
    /// Keeps the key from stopping this process.
    ///
    /// The daemon's prompt would stay on the terminal and share its input with the shell: a command would be taken for a
    /// passcode. A handler, not `SIG_IGN`, which the command that `run` executes would inherit.
    static func hold() {
        var action = sigaction()
        unsafe sigaction(SIGTSTP, nil, &action)
        let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        guard unsafe handler == unsafeBitCast(SIG_DFL, to: Int.self) else { return }
        unsafe action.__sigaction_handler.sa_handler = { _ in }
        action.sa_flags = SA_RESTART
        unsafe sigaction(SIGTSTP, &action, nil)
    }

    /// Lets the key stop this process again: for a command that shows no prompt from now on.
    static func release() {
        var action = sigaction()
        unsafe sigaction(SIGTSTP, nil, &action)
        let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        // Ignored under nohup(1), for example.
        guard unsafe handler != unsafeBitCast(SIG_IGN, to: Int.self) else { return }
        unsafe action.__sigaction_handler.sa_handler = SIG_DFL
        unsafe sigaction(SIGTSTP, &action, nil)
    }
}
