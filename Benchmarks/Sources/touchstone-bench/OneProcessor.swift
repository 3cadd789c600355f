import CProcessors
import Foundation

/// Keeps both ends of a connection on one processor during a measurement.
///
/// Waking a thread on another processor takes several times as long as a whole look-up, and the scheduler may choose
/// either: on one processor every round trip costs the same, ours and the limit's.
enum OneProcessor {
    /// Runs `body` with this process and others on the last processor, and restores their affinity afterwards.
    static func with<R>(_ processes: [Int32], _ body: () throws -> R) throws -> R {
        try keep(processes)
        let result = Result { try body() }
        try letGo(processes)
        return try result.get()
    }

    /// Runs `body` with this process, and the processes that it starts meanwhile, on the last processor.
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

    private static func keep(_ processes: [Int32]) throws { try set(processes, lastAlone: true) }

    private static func letGo(_ processes: [Int32]) throws { try set(processes, lastAlone: false) }

    private static func set(_ processes: [Int32], lastAlone: Bool) throws {
        for process in processes + [getpid()] {
            var done: Set<Int32> = []
            // Repeated until no thread is left that another one started meanwhile.
            while let thread = try threads(of: process).subtracting(done).first {
                done.insert(thread)
                // The thread may have exited.
                guard processors_set(thread, lastAlone) == 0 || errno == ESRCH else {
                    throw BenchError("sched_setaffinity(\(thread)): error \(errno)")
                }
            }
        }
    }

    private static func threads(of process: Int32) throws -> Set<Int32> {
        let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
        return Set(names.compactMap(Int32.init))
    }
}
