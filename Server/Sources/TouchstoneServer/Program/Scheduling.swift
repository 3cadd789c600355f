internal import Glibc

/// How the kernel schedules this process.
public enum Scheduling {
    /// `SCHED_BATCH` of sched(7); the Glibc module lacks it.
    private static let batch: CInt = 3

    /// Lets a thread that is woken wait for the running one's turn to end: the calling thread and those it starts.
    ///
    /// Otherwise the writer, as soon as it has woken an event loop with the first answer of a commit, is interrupted by
    /// it, and again for each further answer: on one processor, a login costs 225 µs instead of 193. Between processors
    /// nothing changes. Another policy than the default one, which somebody chose, stays.
    public static func batchThreads() {
        guard sched_getscheduler(0) == SCHED_OTHER else { return }
        var parameters = sched_param()
        // If this is forbidden, the server is only slower.
        _ = sched_setscheduler(0, batch, &parameters)
    }
}
