/// Runs an actor's jobs, and the bus connection that the actor owns, on one thread.
///
/// An actor that returns it as its executor may call libsystemd anywhere: every call is then made on the
/// thread that also reads the connection, which is what libsystemd asks for.
/// A task that prefers it goes on there after each reply; any other one changes threads twice.
package final class BusExecutor: SerialExecutor, TaskExecutor {
    let loop: BusLoop

    /// Starts the thread; it ends once the executor is gone and its last job has run.
    package init() { loop = BusLoop() }

    deinit { loop.close() }

    /// Runs `job` after those before it.
    package func enqueue(_ job: consuming ExecutorJob) {
        unsafe loop.append(UnownedJob(job), for: asUnownedSerialExecutor(), asUnownedTaskExecutor())
    }

    /// Stops the program when it is not on the executor's thread.
    package func checkIsolated() {
        precondition(loop.isCurrentThread, "not on the thread of the bus")
    }

    /// Whether the caller is on the executor's thread.
    package func isIsolatingCurrentContext() -> Bool? { loop.isCurrentThread }
}
