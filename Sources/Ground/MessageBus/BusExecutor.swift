/// Runs an actor's jobs, and the bus connection that the actor owns, on one thread.
///
/// An actor that uses it as its executor may call libsystemd anywhere: every call is then made on the thread that
/// also reads the connection, as libsystemd requires. A task that prefers this executor continues on that thread
/// after each reply; any other task switches threads twice.
package final class BusExecutor: SerialExecutor, TaskExecutor {
    let loop: BusLoop

    /// Starts the thread; it ends once the executor is destroyed and its last job has run.
    package init() { loop = BusLoop() }

    deinit { loop.close() }

    /// Enqueues `job` after those before it.
    package func enqueue(_ job: consuming ExecutorJob) {
        unsafe loop.append(UnownedJob(job), for: asUnownedSerialExecutor(), asUnownedTaskExecutor())
    }

    /// Traps if the caller is not on the executor's thread.
    package func checkIsolated() {
        precondition(loop.isCurrentThread, "not on the thread of the bus")
    }

    /// Whether the caller is on the executor's thread.
    package func isIsolatingCurrentContext() -> Bool? { loop.isCurrentThread }
}
