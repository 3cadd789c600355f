internal import Foundation

/// A value behind a lock; on Linux, `SecretMemory` has this type.
final class Guarded<Value>: @unchecked Sendable {  // touched under the lock alone
    private let lock = NSLock()
    private var value: Value

    init(_ value: sending Value) { self.value = value }

    /// Lends the value to one caller at a time.
    func withLock<R, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value)
    }
}

/// A thread that may block, outside Swift's pool.
enum BlockingThread {
    /// Starts `body` on a new thread, which exits when `body` returns.
    ///
    /// - Returns: 0; if no thread can be created, the system ends the process.
    static func start(_ body: @escaping @Sendable () -> Void) -> CInt {
        Thread.detachNewThread(body)
        return 0
    }
}

/// Runs one blocking call on a waiting thread, within its task, so that task-local values stay visible.
actor WaitingRoom {
    private nonisolated let executor = WaitingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<R: Sendable>(_ body: @Sendable () -> R) -> R { body() }
}

/// The executor of one ``WaitingRoom``: runs its jobs one after another.
private final class WaitingExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        _ = WaitingThreads.shared.run { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
