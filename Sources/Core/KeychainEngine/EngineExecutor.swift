internal import Dispatch
internal import Glibc
internal import KeychainModel
internal import SecretMemory

/// A combining serial executor: runs the engine's jobs one at a time, on the threads that enqueue them.
///
/// The thread that finds the engine idle runs its own job and all jobs enqueued meanwhile. So a call needs no thread
/// switch, concurrent changes are committed together, and synchronous callers can use an idle engine at once.
final class EngineExecutor: SerialExecutor {
    private enum Job {
        case task(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private struct State {
        var jobs: [Job] = []
        /// Jobs that let the others go first.
        var later: [Job] = []
        var isTaken = false
        /// The thread that runs jobs; meaningful to that thread only.
        var thread = pthread_t()
    }
    /// The most rounds a thread runs before it hands over to a queue: it has its own client to serve.
    private static let rounds = 16

    private let state = Guarded(State())

    func enqueue(_ job: consuming ExecutorJob) { add(.task(UnownedJob(job))) }

    /// Runs `work` as a job of the engine: now, or on the thread that runs its jobs.
    func perform(_ work: @escaping @Sendable () -> Void) { add(.work(work)) }

    /// Runs `work` in the next round, after the jobs enqueued until then; called only by the engine's own jobs.
    func performBehindOthers(_ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.later.append(.work(work)) }
    }

    /// Runs `body` as a job of the engine if it is idle; nil if it is not.
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

    /// Whether jobs are waiting for the engine.
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
        // A job may release the engine, which holds the only other reference to this executor.
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
