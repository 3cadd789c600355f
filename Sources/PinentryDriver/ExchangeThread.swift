import Glibc
import KeychainModel

/// A thread for one conversation: it may block, and the program that it starts dies with it at the latest.
///
/// All signals are blocked on it: a write to a program that is gone must not end the process (`SIGPIPE`), nor
/// putting a terminal in order stop it (`SIGTTOU`).
enum ExchangeThread {
    /// Starts a thread that runs `body` and ends.
    ///
    /// - Parameters:
    ///   - body: runs on the thread.
    ///   - refused: called instead, before this returns, when there can be no thread.
    static func start(
        _ body: @escaping @Sendable () -> Void,
        refused: (PromptError) -> Void
    ) {
        let task = unsafe Unmanaged.passRetained(Body(body))
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        defer { unsafe pthread_attr_destroy(&attributes) }
        // Blocked before it starts, so that no signal finds it with an open mask.
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        var thread = pthread_t()
        let result = unsafe pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument = unsafe argument else { return nil }
                unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            },
            task.toOpaque()
        )
        guard result != 0 else { return }
        unsafe task.release()
        refused(PromptError(.prompterFailed, detail: "no thread: errno \(result)"))
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
