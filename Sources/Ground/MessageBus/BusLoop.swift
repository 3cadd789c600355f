import CLinux
import CSystemd
import Glibc
import SecretMemory
import Threads

/// The loop of a ``BusExecutor``'s thread: all jobs, then one message, then jobs again.
///
/// The thread retains the loop, not the executor, so that the executor can be destroyed first.
@safe
final class BusLoop: @unchecked Sendable {  // `connection` belongs to the thread, the rest is guarded
    /// A job; its executor lives at least until the job has run.
    @safe
    private struct Entry {
        let job: UnownedJob
        let executor: UnownedSerialExecutor
        let taskExecutor: UnownedTaskExecutor

        func run() { unsafe job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor) }
    }

    private struct Queue {
        var waiting: [Entry] = []
        var isClosed = false
        var thread: pthread_t?
    }

    private let queue = Guarded(Queue())
    /// An eventfd that wakes the thread.
    private let wake: CInt
    /// The connection that the thread reads; the thread closes it at its end.
    private var connection: Bus?

    init() {
        wake = clinux_eventfd(0)
        precondition(wake >= 0, "no descriptor is left for the bus")
        start()
    }

    deinit { Glibc.close(wake) }

    private func start() {
        let failure = BlockingThread.start { [self] in
            queue.withLock { $0.thread = pthread_self() }
            run()
        }
        precondition(failure == 0, "no thread is left for the bus")
    }

    // MARK: From any thread

    var isCurrentThread: Bool {
        let thread = queue.withLock { $0.thread }
        guard let thread else { return false }
        return pthread_equal(thread, pthread_self()) != 0
    }

    func append(
        _ job: UnownedJob,
        for executor: UnownedSerialExecutor,
        _ taskExecutor: UnownedTaskExecutor
    ) {
        let isAway = queue.withLock { queue in
            unsafe queue.waiting.append(Entry(job: job, executor: executor, taskExecutor: taskExecutor))
            return queue.thread.map { pthread_equal($0, pthread_self()) == 0 } ?? true
        }
        // The thread itself checks for jobs before it waits.
        if isAway { signal() }
    }

    func close() {
        queue.withLock { $0.isClosed = true }
        signal()
    }

    private func signal() {
        var one: UInt64 = 1
        // Fails only if the counter is full, and then the thread is awake anyway.
        _ = unsafe write(wake, &one, MemoryLayout<UInt64>.size)
    }

    // MARK: On the thread

    /// Reads `connection` from now on; nil to read none.
    func attach(_ connection: Bus?) { self.connection = connection }

    private func run() {
        while runJobs() {
            // After each message its jobs run first, so that no later message overtakes them.
            guard connection?.processOne() != true else { continue }
            wait()
        }
        connection?.close()
        connection = nil
    }

    /// Runs the enqueued jobs and the jobs they enqueue; false once the executor is closed and none is left.
    private func runJobs() -> Bool {
        while true {
            let (batch, isClosed) = queue.withLock { state in
                let batch = state.waiting
                state.waiting.removeAll()
                return (batch, state.isClosed)
            }
            guard !batch.isEmpty else { return !isClosed }
            for entry in batch { entry.run() }
        }
    }

    private func wait() {
        var descriptors = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
        var timeout: CInt = -1
        if let connection {
            descriptors.append(connection.pollDescriptor)
            timeout = connection.pollTimeout
        }
        _ = unsafe poll(&descriptors, nfds_t(descriptors.count), timeout)
        if descriptors[0].revents != 0 {
            var count: UInt64 = 0
            _ = unsafe read(wake, &count, MemoryLayout<UInt64>.size)
        }
    }
}
