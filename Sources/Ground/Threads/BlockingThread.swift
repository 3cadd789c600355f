import Glibc

/// A thread that may block, outside Swift's pool; a helper that it starts with clinux_spawn is killed when it ends.
///
/// All signals are blocked on it: a write to a closed connection must not end the process (`SIGPIPE`), restoring a
/// terminal must not stop it (`SIGTTOU`), and a signal sent to the process is delivered to the main thread.
public enum BlockingThread {
    /// Enough for SQLite and the key derivation, which run on connection threads.
    private static let stackByteCount = 1 << 20

    /// Starts a detached thread that runs `body` and then ends.
    ///
    /// - Returns: 0, or the `errno` of pthread_create(3) if no thread could be started; `body` is not called then.
    public static func start(_ body: @escaping @Sendable () -> Void) -> CInt {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
        // Blocked before the thread starts, so that it never runs with an open mask.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        let box = unsafe Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            box.toOpaque()
        )
        if result != 0 { unsafe box.release() }
        return result
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
