import Glibc

/// Keeps both ends of a conversation on one processor while it is measured.
///
/// Waking a thread on another processor takes several times as long as a whole look-up, and which of the two happens is
/// the scheduler's mood: on one processor every round trip costs the same, ours and the limit's.
enum OneProcessor {
    private static let program = "/usr/bin/taskset"

    /// Runs `body` with this process and others on the last processor, and lets them all go afterwards.
    static func with<R>(_ processes: [Int32], _ body: () throws -> R) throws -> R {
        let count = sysconf(CInt(_SC_NPROCESSORS_ONLN))
        guard count > 1, unsafe access(program, X_OK) == 0 else { return try body() }
        let all = processes + [getpid()]
        try set(all, "\(count - 1)")
        let result = Result { try body() }
        try set(all, "0-\(count - 1)")
        return try result.get()
    }

    private static func set(_ processes: [Int32], _ processors: String) throws {
        for process in processes {
            try CommandRun(
                path: program,
                arguments: ["--all-tasks", "--pid", "--cpu-list", processors, "\(process)"],
                environment: [:]
            ).run()
        }
    }
}
