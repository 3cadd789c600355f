import CLinux
import Glibc
import Threads

/// Runs an actor's jobs in order on one thread of their own, which may block: the ESYS calls wait for the chip.
final class TPMThread: SerialExecutor {
    private let queue = JobQueue()

    /// Starts the thread; it ends once the executor is gone and its last job has run.
    init() {
        let result = BlockingThread.start { [queue] in queue.run() }
        precondition(result == 0, "no thread for the TPM: errno \(result)")
    }

    deinit { queue.close() }

    func enqueue(_ job: consuming ExecutorJob) {
        unsafe queue.append(UnownedJob(job), for: asUnownedSerialExecutor())
    }
}

/// What the thread keeps alive, so that the executor can go first.
@safe
private final class JobQueue: @unchecked Sendable {  // all variables are touched under the mutex alone
    /// Deeper than any call goes; a small part of what a command takes.
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
                // The library's functions and the structures that go into them leave what they sealed and unsealed.
                clinux_wipe_stack(Self.depth)
            }
        }
    }
}
