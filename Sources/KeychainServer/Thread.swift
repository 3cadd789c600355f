import Glibc

/// Threads that may block, outside Swift's pool.
enum Thread {
    /// Enough for SQLite and the key derivation, which run on these threads.
    private static let stackByteCount = 1 << 20

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts `body` on a detached thread.
    ///
    /// - Returns: false when the system has no thread left.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        unsafe pthread_attr_setstacksize(&attributes, stackByteCount)
        let start = unsafe Unmanaged.passRetained(Start(body))
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            },
            start.toOpaque()
        )
        if result != 0 { unsafe start.release() }
        return result == 0
    }
}
