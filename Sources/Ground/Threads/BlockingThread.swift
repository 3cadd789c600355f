import Glibc

/// A thread that may block, outside Swift's pool; what it starts with clinux_spawn dies with it at the latest.
///
/// All signals are blocked on it: a write to a peer that is gone must not end the process (`SIGPIPE`), nor putting a
/// terminal in order stop it (`SIGTTOU`), and a signal that means the process finds the main thread.
public enum BlockingThread {
    /// Enough for SQLite and the key derivation, which run on the threads of connections.
    private static let stackByteCount = 1 << 20

    /// Starts `body` on a detached thread, which ends with it.
    ///
    /// - Returns: 0, or why there is no thread: the `errno` of pthread_create(3); `body` is not called then.
    public static func start(_ body: @escaping @Sendable () -> Void) -> CInt {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
        // Blocked before it starts, so that no signal finds it with an open mask.
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
