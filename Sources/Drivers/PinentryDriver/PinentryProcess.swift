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
