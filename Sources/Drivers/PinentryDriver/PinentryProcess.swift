import CLinux
import Glibc
import KeychainModel

/// A running pinentry program; it has ended and is reaped when its owner lets go, on every path.
///
/// Make it on a thread that outlives it: the kernel kills the program when the thread that made it ends.
struct PinentryProcess: ~Copyable {
    /// How long it may take to end by itself, and then after `SIGTERM`.
    static let grace = (itself: Duration.seconds(1), terminated: Duration.milliseconds(300))

    /// Its number, which is also that of its process group.
    let identifier: pid_t
    /// A pidfd, or -1 where there is none.
    private let descriptor: CInt

    /// Starts a program whose input and output are one of our descriptors, and which has nothing else of ours.
    ///
    /// - Throws: ``PromptError`` with `prompterFailed` and the reason of execve(2).
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

    /// Lets the program end, or makes it; it has ended and is reaped on return.
    ///
    /// - Parameter politely: whether it was told to end and gets a moment before it is asked.
    /// - Returns: whether it had to be killed or asked.
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
        // Its whole group, while the number is still taken by the program that was not waited for.
        kill(-identifier, SIGKILL)
        _ = SystemCall.uninterrupted { waitpid(identifier, nil, 0) }
        if descriptor >= 0 { close(descriptor) }
    }
}
