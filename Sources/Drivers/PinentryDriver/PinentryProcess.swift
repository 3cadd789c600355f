import CLinux
import Glibc
import KeychainModel

/// A running pinentry program; on every path it is ended and reaped when this value is destroyed.
///
/// Create it on a thread that outlives it: the kernel kills the program when the creating thread ends.
struct PinentryProcess: ~Copyable {
    /// How long the program may take to exit by itself, and then after `SIGTERM`.
    static let grace = (itself: Duration.seconds(1), terminated: Duration.milliseconds(300))

    /// Its pid, which is also its process group.
    let identifier: pid_t
    /// A pidfd, or -1 if none could be opened.
    let descriptor: CInt

    /// Starts a program with one of our descriptors as input and output; it inherits nothing else.
    ///
    /// - Throws: ``PromptError`` with `prompterFailed` and the error of execve(2).
    init(path: String, environment: [String], socket: CInt) throws(PromptError) {
        var arguments = unsafe [strdup(path), nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        identifier = unsafe clinux_spawn(path, &arguments, &variables, socket, socket, -1)
        guard identifier > 0 else {
            throw PromptError(
                .prompterFailed,
                detail: "\(path) did not start: \(SystemError.name(of: errno))"
            )
        }
        descriptor = clinux_pidfd_open(identifier)
    }

    /// Waits for the program to exit, or kills it; on return it has ended and is reaped.
    ///
    /// - Parameter politely: whether it was told to exit and gets ``grace`` before `SIGTERM`.
    /// - Returns: whether it had to be sent a signal.
    consuming func end(politely: Bool) -> Bool {
        if politely, hasEnded(within: Self.grace.itself) { return false }
        kill(identifier, SIGTERM)
        if !hasEnded(within: Self.grace.terminated) { kill(identifier, SIGKILL) }
        return true
    }

    /// Calls `body` while a child process is stopped, so that it reads nothing meanwhile.
    ///
    /// - Parameters:
    ///   - child: a process that has not been reaped.
    ///   - body: called once the process is stopped.
    /// - Returns: what `body` returned; nil if the process has ended or did not stop in time.
    static func whileStopped<Result>(_ child: pid_t, _ body: () -> Result) -> Result? {
        guard kill(child, SIGSTOP) == 0 else { return nil }
        defer { kill(child, SIGCONT) }
        let deadline = ContinuousClock.now + grace.terminated
        while true {
            // waitid(2) leaves `si_signo` 0 if the child is neither stopped nor ended.
            var change = unsafe siginfo_t()
            let options = WSTOPPED | WEXITED | WNOWAIT | WNOHANG
            guard unsafe waitid(P_PID, id_t(child), &change, options) == 0 else { return nil }
            if unsafe change.si_signo != 0 { return unsafe Int(change.si_code) == CLD_STOPPED ? body() : nil }
            guard ContinuousClock.now < deadline else { return nil }
            // It stops as soon as it is scheduled, and no event reports it.
            sched_yield()
        }
    }

    private borrowing func hasEnded(within limit: Duration) -> Bool {
        guard descriptor >= 0 else { return false }
        let deadline = ContinuousClock.now + limit
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&watched, 1, deadline.pollTimeout)
            if count > 0 { return true }
            if count == 0 || errno != EINTR { return false }
        }
    }

    deinit {
        // Kills the whole group while the unreaped program still holds its number.
        kill(-identifier, SIGKILL)
        _ = SystemCall.uninterrupted { waitpid(identifier, nil, 0) }
        if descriptor >= 0 { close(descriptor) }
    }
}
