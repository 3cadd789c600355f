internal import Dispatch
internal import Glibc
internal import KeychainModel
internal import SecretMemory

/// Runs the engine's jobs one after the other, each on whichever thread finds the engine free or at work.
///
/// A thread that brings a job to a free engine runs it, and those that others bring meanwhile. So a call costs no change
/// of threads, changes that come together are committed together, and who needs no task can have the engine at once.
final class EngineExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isTaken = false
        /// Who has the engine; of use to that thread alone.
        var thread = pthread_t()
    }
    /// How often a thread looks for more jobs before another goes on: it has a client of its own.
    private static let rounds = 8

    private let state = Guarded(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isFree = state.withLock { state in
            state.jobs.append(job)
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { runJobs() }
    }

    /// Has `body` run between two jobs, as one of them; nil when the engine is not free.
    func ifFree<R: ~Copyable, E: Error>(_ body: () throws(E) -> R) throws(E) -> R? {
        let isFree = state.withLock { state in
            guard !state.isTaken else { return false }
            state.isTaken = true
            state.thread = pthread_self()
            return true
        }
        guard isFree else { return nil }
        defer { runJobs() }
        return try body()
    }

    func isIsolatingCurrentContext() -> Bool? {
        state.withLock { $0.isTaken && pthread_equal($0.thread, pthread_self()) != 0 }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the engine's executor")
    }

    private func runJobs() {
        for _ in 0..<Self.rounds {
            let jobs = state.withLock { state in
                let jobs = state.jobs
                if jobs.isEmpty {
                    state.isTaken = false
                } else {
                    state.jobs = []
                    state.thread = pthread_self()
                }
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
        DispatchQueue.global().async { self.runJobs() }
    }
}
