internal import Dispatch
internal import Glibc
internal import KeychainModel
internal import SecretMemory

/// Runs the engine's jobs one after the other, each on whichever thread finds the engine free or at work.
///
/// A thread that brings a job to a free engine runs it, and those that others bring meanwhile. So a call costs no change
/// of threads, changes that come together are committed together, and who needs no task can have the engine at once.
final class EngineExecutor: SerialExecutor {
    private enum Job {
        case task(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private struct State {
        var jobs: [Job] = []
        /// Those that let others go first.
        var later: [Job] = []
        var isTaken = false
        /// Who has the engine; of use to that thread alone.
        var thread = pthread_t()
    }
    /// How often a thread looks for more jobs before another goes on: it has a client of its own.
    private static let rounds = 16

    private let state = Guarded(State())

    func enqueue(_ job: consuming ExecutorJob) { add(.task(UnownedJob(job))) }

    /// Has `work` run as a job of the engine: now, or by the thread that has the engine.
    func perform(_ work: @escaping @Sendable () -> Void) { add(.work(work)) }

    /// Has `work` run once those that wait now, and those that come until then, have had their turn; only for the
    /// engine's own jobs.
    func performBehindOthers(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.later.append(.work(work)) }
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

    /// Whether somebody waits for the engine.
    var isAwaited: Bool { state.withLock { !$0.jobs.isEmpty || !$0.later.isEmpty } }

    func isIsolatingCurrentContext() -> Bool? {
        state.withLock { $0.isTaken && pthread_equal($0.thread, pthread_self()) != 0 }
    }

    func checkIsolated() {
        precondition(isIsolatingCurrentContext() == true, "not on the engine's executor")
    }

    private func add(_ job: Job) {
        let isFree = state.withLock { state in
            state.jobs.append(job)
            defer { state.isTaken = true }
            return !state.isTaken
        }
        if isFree { runJobs() }
    }

    private func runJobs() {
        // A job may let go of the engine, and nobody else has its executor.
        let kept = unsafe Unmanaged.passRetained(self)
        defer { unsafe kept.release() }
        for _ in 0..<Self.rounds {
            let jobs = state.withLock { state in
                let jobs = state.later.isEmpty ? state.jobs : state.jobs + state.later
                (state.jobs, state.later) = ([], [])
                state.isTaken = !jobs.isEmpty
                state.thread = pthread_self()
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs {
                switch job {
                case .task(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
                case .work(let work): work()
                }
            }
        }
        state.withLock { $0.thread = pthread_t() }
        DispatchQueue.global().async { self.runJobs() }
    }
}
