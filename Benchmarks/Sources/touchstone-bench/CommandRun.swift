import Glibc

/// Runs a program until it exits, and discards its output.
struct CommandRun {
    let path: String
    let arguments: [String]
    let environment: [String: String]
    /// A file for its standard input; nil for none.
    var input = "/dev/null"
    /// Whether its standard error is discarded too.
    var isQuiet = false

    /// Runs the program once.
    ///
    /// - Throws: ``BenchError`` unless it exits with status 0.
    func run() throws {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        if isQuiet {
            unsafe posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        }
        var argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        var process: pid_t = 0
        guard unsafe posix_spawn(&process, path, &actions, nil, &argv, &envp) == 0 else {
            throw BenchError("\(path) does not start")
        }
        var status: CInt = 0
        while unsafe waitpid(process, &status, 0) < 0, errno == EINTR {}
        guard status == 0 else { throw BenchError("\(path) ended with \(status >> 8)") }
    }

    /// The median time of `count` runs.
    func median(of count: Int) throws -> Nanoseconds {
        try run()
        return try Stopwatch.median(of: count) { _ in try run() }
    }
}
