internal import Foundation

/// A value behind a lock; what `SecretMemory` has on Linux.
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
    /// Starts `body` on a thread, which ends with it.
    ///
    /// - Returns: 0; the system ends a process for which it has no thread.
    static func start(_ body: @escaping @Sendable () -> Void) -> CInt {
        Thread.detachNewThread(body)
        return 0
    }
}

/// Runs one call that blocks on a waiting thread; it stays a part of its task, whose local values it sees.
actor WaitingRoom {
    private nonisolated let executor = WaitingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func run<R: Sendable>(_ body: @Sendable () -> R) -> R { body() }
}

/// The thread of one ``WaitingRoom``: its jobs come one after the other.
private final class WaitingExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        _ = WaitingThreads.shared.run { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
