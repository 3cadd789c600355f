import CLinux
import Glibc
import PeerSockets
import SecretMemory

/// Runs the requests of one connection on the connection's own thread, between two polls of its socket.
///
/// A request that waits for nothing thus runs without a thread switch. Actors without an executor of their own also
/// run here while they work for such a request.
final class ConnectionExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The jobs of the round that runs; its memory is used again.
        var running: [UnownedJob] = []
        /// The thread is in poll(2), or about to be: a job must wake it.
        var isAsleep = false
        /// The thread is in recv(2), or about to be, because no request runs that could enqueue a job.
        var isReceiving = false
        /// ``wake()`` was called: the thread has to check its state before it sleeps.
        var wasWoken = false
        var hasEnded = false
    }
    /// A request that waits for nothing is one job; one that passes through an actor is up to three.
    private static let roundsBetweenLooks = 4

    private let state = Guarded(State())
    /// Readable when the thread has to run its jobs.
    let wakeup: CInt

    init() throws(ServerError) {
        wakeup = clinux_eventfd(0)
        guard wakeup >= 0 else { throw ServerError(call: "eventfd", errno: errno) }
    }

    deinit { close(wakeup) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let (mustWake, isAway) = state.withLock { state in
            if state.hasEnded || state.isReceiving { return (false, true) }
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return (state.isAsleep, false)
        }
        if mustWake { signal() }
        // The thread has ended or has no request, so the job cannot run concurrently with anything on it.
        if isAway { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Makes the thread check its state; callable from any thread.
    ///
    /// - Returns: whether the thread is in recv(2), which this does not interrupt.
    @discardableResult
    func wake() -> Bool {
        let (mustWake, isReceiving) = state.withLock { state in
            state.wasWoken = true
            defer { state.isAsleep = false }
            return (state.isAsleep, state.isReceiving)
        }
        if mustWake { signal() }
        return isReceiving
    }

    /// Runs the enqueued jobs and the jobs they enqueue, for as many rounds as a look-up needs.
    ///
    /// The thread polls the socket before it continues a longer request.
    func runJobs() {
        for _ in 0..<Self.roundsBetweenLooks {
            let jobs = state.withLock { state in
                state.running.removeAll(keepingCapacity: true)
                swap(&state.jobs, &state.running)
                return state.running
            }
            if jobs.isEmpty { return }
            for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Whether the thread may sleep: no job is enqueued, and any later one wakes it.
    func maySleep() -> Bool {
        state.withLock { state in
            defer { state.wasWoken = false }
            guard state.jobs.isEmpty, !state.wasWoken else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// Whether the thread may wait in recv(2): no job is enqueued and ``wake()`` was not called.
    func mayWaitForRequest() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty, !state.wasWoken else { return false }
            state.isReceiving = true
            return true
        }
    }

    /// The thread has returned from recv(2).
    func hasReceived() {
        state.withLock { $0.isReceiving = false }
    }

    /// The thread is awake; resets the eventfd that woke it.
    func awoke(bySignal: Bool) {
        if bySignal {
            var count: UInt64 = 0
            _ = unsafe read(wakeup, &count, MemoryLayout<UInt64>.size)
        }
        state.withLock { $0.isAsleep = false }
    }

    /// Ends if no job is left; from then on, jobs run on the thread that enqueues them.
    func endIfEmpty() -> Bool {
        state.withLock { state in
            state.hasEnded = state.jobs.isEmpty
            return state.hasEnded
        }
    }

    private func signal() {
        var one: UInt64 = 1
        _ = unsafe write(wakeup, &one, MemoryLayout<UInt64>.size)
    }
}
