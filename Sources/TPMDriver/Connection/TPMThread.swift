import Glibc
import SecretMemory

/// Runs an actor's jobs in order on one thread of their own, which may block: the ESYS calls wait for the chip.
///
/// All signals are blocked on the thread: a write to a simulator that is gone must not end the process.
final class TPMThread: SerialExecutor {
    private let queue = JobQueue()

    /// Starts the thread; it ends once the executor is gone and its last job has run.
    init() {
        let queue = unsafe Unmanaged.passRetained(queue)
        // Blocked before the thread starts, so that no signal finds it with an open mask.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<JobQueue>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            queue.toOpaque()
        )
        precondition(result == 0, "no thread for the TPM: errno \(result)")
        pthread_detach(thread)
    }

    deinit { queue.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        unsafe queue.append(UnownedJob(job), for: asUnownedSerialExecutor())
    }
}

/// What the thread keeps alive, so that the executor can go first.
@safe
private final class JobQueue: @unchecked Sendable {  // all variables are touched under the mutex alone
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var jobs: [(job: UnownedJob, executor: UnownedSerialExecutor)] = unsafe []
    private var isClosed = false

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        unsafe changed = .allocate(capacity: 1)
        unsafe changed.initialize(to: pthread_cond_t())
        unsafe pthread_cond_init(changed, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe changed.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func append(_ job: UnownedJob, for executor: UnownedSerialExecutor) {
        unsafe pthread_mutex_lock(mutex)
        unsafe jobs.append((job, executor))
        unsafe pthread_mutex_unlock(mutex)
        unsafe pthread_cond_signal(changed)
    }

    func close() {
        unsafe pthread_mutex_lock(mutex)
        isClosed = true
        unsafe pthread_mutex_unlock(mutex)
        unsafe pthread_cond_signal(changed)
    }

    func run() {
        while true {
            unsafe pthread_mutex_lock(mutex)
            while unsafe jobs.isEmpty && !isClosed { unsafe pthread_cond_wait(changed, mutex) }
            let next = unsafe jobs
            unsafe jobs = []
            unsafe pthread_mutex_unlock(mutex)
            guard unsafe !next.isEmpty else { return }
            unsafe next.forEach { unsafe $0.job.runSynchronously(on: $0.executor) }
        }
    }
}
