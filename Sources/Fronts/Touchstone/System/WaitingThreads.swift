internal import Dispatch

#if !APPLE_SIDE
    internal import SecretMemory
    internal import Threads
#endif

/// Threads that block for the keychain and for the user, in place of those of Swift's pool.
///
/// A thread stays for a while after its call. There are at most 64; further calls wait for one of them. Only a few can be
/// waiting for the user, because the daemon refuses further prompts to the same user.
final class WaitingThreads: Sendable {
    /// The threads of this process.
    static let shared = WaitingThreads()
    /// The maximum number of threads.
    static let most = 64

    private typealias Job = @Sendable () -> Void

    private final class Waiter: Sendable {
        let signal = DispatchSemaphore(value: 0)
        let job = Guarded<Job?>(nil)

        func hand(_ job: @escaping Job) {
            self.job.withLock { $0 = job }
            signal.signal()
        }
    }

    private struct State {
        var idle: [Waiter] = []
        /// Jobs without a thread; empty while a thread is idle.
        var pending: [Job] = []
        var threads = 0

        /// Hands a job to an idle thread, or queues it for the next thread that becomes free.
        mutating func hand(_ job: @escaping Job) {
            if let waiter = idle.popLast() { waiter.hand(job) } else { pending.append(job) }
        }
    }

    private let state = Guarded(State())

    /// Runs `job` on a thread that may block.
    ///
    /// - Returns: 0, or the `errno` of pthread_create(3) if there is no thread at all; `job` is not called then.
    func run(_ job: @escaping @Sendable () -> Void) -> Int32 {
        let isNew = state.withLock { state in
            guard state.idle.isEmpty, state.threads < Self.most else {
                state.hand(job)
                return false
            }
            state.threads += 1
            return true
        }
        guard isNew else { return 0 }
        let number = BlockingThread.start {
            job()
            self.serve()
        }
        guard number != 0 else { return 0 }
        return state.withLock { state in
            state.threads -= 1
            guard state.threads > 0 else { return number }
            state.hand(job)
            return 0
        }
    }

    /// Runs jobs until none has arrived for ten seconds.
    private func serve() {
        let waiter = Waiter()
        while true {
            let next = state.withLock { state -> Job? in
                guard state.pending.isEmpty else { return state.pending.removeFirst() }
                state.idle.append(waiter)
                return nil
            }
            if let next {
                next()
                continue
            }
            if waiter.signal.wait(timeout: .now() + .seconds(10)) == .timedOut {
                let wasIdle = state.withLock { state in
                    guard let index = state.idle.firstIndex(where: { $0 === waiter }) else { return false }
                    state.idle.remove(at: index)
                    state.threads -= 1
                    return true
                }
                if wasIdle { return }
                // A job is being handed to this thread.
                waiter.signal.wait()
            }
            waiter.job.withLock { $0.take() }?()
        }
    }
}

/// Runs closures after a delay, on a serial dispatch queue.
enum Timers {
    private static let queue = DispatchQueue(label: "Touchstone.timers")

    /// Schedules `body`, which is released once it has run or was cancelled.
    ///
    /// - Returns: a closure that cancels the timer; the timer stays active even if the closure is not kept.
    static func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let (seconds, attoseconds) = time.components
        timer.schedule(
            deadline: .now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        )
        // The handler retains the timer until it is cancelled.
        let plan = Plan(timer)
        timer.setEventHandler {
            plan.cancel()
            body()
        }
        timer.resume()
        return { plan.cancel() }
    }

    private final class Plan: @unchecked Sendable {  // a source is thread-safe, and is only cancelled
        private let timer: any DispatchSourceTimer

        init(_ timer: any DispatchSourceTimer) { self.timer = timer }

        func cancel() { timer.cancel() }
    }
}
