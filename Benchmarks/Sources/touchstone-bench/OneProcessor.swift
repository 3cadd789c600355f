import Glibc

/// Keeps both ends of a conversation on one processor while it is measured.
///
/// Waking a thread on another processor takes several times as long as a whole look-up, and which of the two happens is
/// the scheduler's mood: on one processor every round trip costs the same, ours and the limit's.
enum OneProcessor {
    private static let program = "/usr/bin/taskset"

    /// Runs `body` with this process and others on the last processor, and lets them all go afterwards.
    static func with<R>(_ processes: [Int32], _ body: () throws -> R) throws -> R {
        try keep(processes)
        let result = Result { try body() }
        try letGo(processes)
        return try result.get()
    }

    /// Runs `body` with this process, and those that it starts meanwhile, on the last processor.
    static func with(_ body: () async throws -> Void) async throws {
        try keep([])
        do {
            try await body()
        } catch {
            try letGo([])
            throw error
        }
        try letGo([])
    }

    private static let last = sysconf(CInt(_SC_NPROCESSORS_ONLN)) - 1

    private static func keep(_ processes: [Int32]) throws { try set(processes, "\(last)") }

    private static func letGo(_ processes: [Int32]) throws { try set(processes, "0-\(last)") }

    private static func set(_ processes: [Int32], _ processors: String) throws {
        guard last > 0, unsafe access(program, X_OK) == 0 else { return }
        for process in processes + [getpid()] {
            try CommandRun(
                path: program,
                arguments: ["--all-tasks", "--pid", "--cpu-list", processors, "\(process)"],
                environment: [:]
            ).run()
        }
    }
}
