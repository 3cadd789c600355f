import Glibc

/// Standard input, output and error, where the caller closed them.
enum StandardStreams {
    /// Keeps their numbers from being given to a socket, which a secret would then be written to.
    ///
    /// What stands in for them refuses as a closed one does, and is closed for the command that `run` becomes.
    static func keepClosedOnes() {
        let streams = [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        // Upwards: the lowest free number is the one that is missing.
        for (descriptor, mode) in streams where fcntl(descriptor, F_GETFD) < 0 {
            _ = unsafe open("/dev/null", mode | O_CLOEXEC)
        }
    }
}
