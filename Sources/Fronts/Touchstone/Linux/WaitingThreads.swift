internal import Dispatch
internal import SecretMemory
internal import Threads

/// Threads that wait for the daemon and for people, so that none of Swift's pool does.
///
/// There are as many as calls wait; each stays for a while when its call has ended.
final class WaitingThreads: Sendable {
    /// Those of this process.
    static let shared = WaitingThreads()

    private typealias Job = @Sendable () -> Void

    private final class Waiter: Sendable {
        let signal = DispatchSemaphore(value: 0)
        let job = Guarded<Job?>(nil)
    }

    private let idle = Guarded<[Waiter]>([])

    /// Runs `job` on a thread that may block.
    ///
    /// - Returns: 0, or the `errno` of pthread_create(3); `job` is not called then.
    func run(_ job: @escaping @Sendable () -> Void) -> Int32 {
        guard let waiter = idle.withLock({ $0.popLast() }) else {
            return BlockingThread.start {
                job()
                self.serve()
            }
        }
        waiter.job.withLock { $0 = job }
        waiter.signal.signal()
        return 0
    }

    /// Runs one job after the other until none has come for ten seconds.
    private func serve() {
        let waiter = Waiter()
        while true {
            idle.withLock { $0.append(waiter) }
            if waiter.signal.wait(timeout: .now() + .seconds(10)) == .timedOut {
                let wasIdle = idle.withLock { idle in
                    let index = idle.firstIndex { $0 === waiter }
                    if let index { idle.remove(at: index) }
                    return index != nil
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

    /// - Returns: what takes the plan back.
    static func after(_ time: Duration, _ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let isOver = Guarded(false)
        let (seconds, attoseconds) = time.components
        let deadline =
            DispatchTime.now() + .seconds(Int(seconds)) + .nanoseconds(Int(attoseconds / 1_000_000_000))
        queue.asyncAfter(deadline: deadline) {
            if !isOver.withLock(\.self) { body() }
        }
        return { isOver.withLock { $0 = true } }
    }
}
