import CLinux
import Glibc
import Threads

/// Runs an actor's jobs in order on a dedicated thread, which may block: the ESYS calls wait for the chip.
final class TPMThread: SerialExecutor {
    private let queue = JobQueue()

    /// Starts the thread; it ends once the executor is destroyed and its last job has run.
    init() {
        let result = BlockingThread.start { [queue] in queue.run() }
        precondition(result == 0, "no thread for the TPM: errno \(result)")
    }

    deinit { queue.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        unsafe queue.append(UnownedJob(job), for: asUnownedSerialExecutor())
    }
}

/// The thread's job queue, which the thread retains so that the executor can be destroyed first.
@safe
private final class JobQueue: @unchecked Sendable {  // all variables are touched under the mutex alone
    /// Deeper than any call goes; wiping it takes a small part of a command's time.
    private static let depth = 256 * 1024

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
            unsafe next.forEach {
                unsafe $0.job.runSynchronously(on: $0.executor)
                // The library's functions and their argument structures leave sealed and unsealed secrets on the
                // stack.
                clinux_wipe_stack(Self.depth)
            }
        }
    }
}
