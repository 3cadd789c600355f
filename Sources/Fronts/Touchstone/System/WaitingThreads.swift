internal import Dispatch

#if !APPLE_SIDE
    internal import SecretMemory
    internal import Threads
#endif

/// Threads that wait for the keychain and for people, so that none of Swift's pool does.
///
/// Each stays for a while when its call has ended. There are 64 at most, and further calls wait for one of them: no more than a
/// few can wait for a person, because the daemon refuses a user's further prompts.
final class WaitingThreads: Sendable {
    /// Those of this process.
    static let shared = WaitingThreads()
    /// The most threads.
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
        /// Jobs that no thread has taken; there are none while a thread is idle.
        var pending: [Job] = []
        var threads = 0

        /// Gives a job to an idle thread, or leaves it for the next one that has ended its own.
        mutating func hand(_ job: @escaping Job) {
            if let waiter = idle.popLast() { waiter.hand(job) } else { pending.append(job) }
        }
    }

    private let state = Guarded(State())

    /// Runs `job` on a thread that may block.
    ///
    /// - Returns: 0, or the `errno` of pthread_create(3) where there is no thread at all; `job` is not called then.
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

    /// Runs one job after the other until none has come for ten seconds.
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
                // A job is being handed over.
                waiter.signal.wait()
            }
            waiter.job.withLock { $0.take() }?()
        }
    }
}

/// Runs something after a time, on a thread of Dispatch's own.
enum Timers {
    private static let queue = DispatchQueue(label: "Touchstone.timers")

    /// Plans `body`, which is let go of as soon as it was run or taken back.
    ///
    /// - Returns: what takes the plan back; the plan holds without it too.
    static func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let (seconds, attoseconds) = time.components
        timer.schedule(
            deadline: .now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        )
        // Holds the timer until it is cancelled.
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
