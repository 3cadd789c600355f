internal import Glibc

/// How the kernel schedules this process.
public enum Scheduling {
    /// `SCHED_BATCH` of sched(7); the Glibc module lacks it.
    private static let batch: CInt = 3

    /// With SQLite, lets a thread that is woken wait for the running one's turn to end: the calling thread and those that
    /// it starts.
    ///
    /// Otherwise the writer, as soon as it has woken an event loop with the first answer of a commit, is interrupted by
    /// it, and again for each further answer: a login costs 225 µs instead of 193 on one processor, and there are 5,750
    /// a second instead of 6,100 on two. With PostgreSQL nothing is gained. Another policy than the default one, which
    /// somebody chose, stays.
    public static func batchThreads(for configuration: ServerConfiguration) {
        guard StoreOpener.isFile(configuration.databaseAddress), sched_getscheduler(0) == SCHED_OTHER else {
            return
        }
        var parameters = sched_param()
        // If this is forbidden, the server is only slower.
        _ = sched_setscheduler(0, batch, &parameters)
    }
}
