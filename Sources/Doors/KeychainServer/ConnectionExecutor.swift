import CLinux
import Glibc
import SecretMemory

/// Runs the requests of one connection on the connection's own thread, between two looks at its socket.
///
/// A request that waits for nobody thus runs without any change of thread.
/// Actors without an executor of their own run here as well while they work for such a request.
final class ConnectionExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The thread is in poll(2), or about to be: a job must wake it.
        var isAsleep = false
        /// The thread is in recv(2), or about to be, because no request runs that could have a job.
        var isReceiving = false
        /// Somebody wants the thread to look around before it sleeps.
        var wasWoken = false
        var hasEnded = false
    }
    /// A request's own job, that of the vault's actor, and the rest of the request; one more for a commit.
    private static let roundsBetweenLooks = 4

    private let state = Guarded(State())
    /// Readable when the thread has to look at its jobs.
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
        // The thread is gone or has no request, and with it everything that a job could meet here.
        if isAway { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    /// Makes the thread look around; from any thread.
    ///
    /// - Returns: whether it is in recv(2), from which this does not wake it.
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

    /// Runs the jobs that are there, and those that they add, as far as a look-up goes: a request that goes on for
    /// longer lets the thread look at the socket in between.
    func runJobs() {
        for _ in 0..<Self.roundsBetweenLooks {
            let jobs = state.withLock { state in
                let jobs = state.jobs
                state.jobs = []
                return jobs
            }
            if jobs.isEmpty { return }
            for job in jobs { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Whether the thread may sleep: nothing is waiting, and whatever comes from now on wakes it.
    func maySleep() -> Bool {
        state.withLock { state in
            defer { state.wasWoken = false }
            guard state.jobs.isEmpty, !state.wasWoken else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// Whether the thread may wait in recv(2): no request runs, and nobody wants it.
    func mayWaitForRequest() -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty, !state.wasWoken else { return false }
            state.isReceiving = true
            return true
        }
    }

    /// The thread is back from recv(2).
    func hasReceived() {
        state.withLock { $0.isReceiving = false }
    }

    /// The thread no longer sleeps; takes back what woke it.
    func awoke(bySignal: Bool) {
        if bySignal {
            var count: UInt64 = 0
            _ = unsafe read(wakeup, &count, MemoryLayout<UInt64>.size)
        }
        state.withLock { $0.isAsleep = false }
    }

    /// Ends when nothing is left to run; from now on, jobs run where they are made.
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
