import Glibc

/// Standard input, output and error, if the caller closed them.
enum StandardStreams {
    /// Keeps their numbers from being assigned to a socket, to which a secret would then be written.
    ///
    /// The replacement fails like a closed descriptor, and is closed for the command that `run` executes.
    static func keepClosedOnes() {
        let streams = [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        // In ascending order: open(2) uses the lowest free number, which is the missing one.
        for (descriptor, mode) in streams where fcntl(descriptor, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", mode | O_CLOEXEC)
        }
    }
}
