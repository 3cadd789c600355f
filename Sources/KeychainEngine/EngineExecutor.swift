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
        /// Those who let others go first.
        var yielding: [CheckedContinuation<Void, Never>] = []
        var isTaken = false
        /// Who has the engine; of use to that thread alone.
        var thread = pthread_t()
    }
    /// How often a thread looks for more jobs before another goes on: it has a client of its own.
    private static let rounds = 16

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

    /// Has the job at hand go on behind all that wait, as `Task.yield()` does by way of other threads.
    func enqueueBehindOthers(_ job: CheckedContinuation<Void, Never>) {
        state.withLock { $0.yielding.append(job) }
    }

    func isIsolatingCurrentContext() -> Bool? {
        state.withLock { $0.isTaken && pthread_equal($0.thread, pthread_self()) != 0 }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the engine's executor")
    }

    private func runJobs() {
        for _ in 0..<Self.rounds {
            let (jobs, yielding, isOver) = state.withLock { state in
                defer { (state.jobs, state.yielding) = ([], []) }
                state.isTaken = !(state.jobs.isEmpty && state.yielding.isEmpty)
                state.thread = pthread_self()
                return (state.jobs, state.yielding, !state.isTaken)
            }
            if isOver { return }
            for job in jobs { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
            // Enqueues them, behind those who came meanwhile.
            for continuation in yielding { continuation.resume() }
        }
        state.withLock { $0.thread = pthread_t() }
        DispatchQueue.global().async { self.runJobs() }
    }
}
