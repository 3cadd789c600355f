import Glibc
import KeychainModel
import SecretMemory

/// The daemon's hardening beyond ``ProcessHardening``, done first: its libraries and its signals.
enum DaemonHardening {
    /// Signals after which the kernel would write a core dump, or Swift a crash report.
    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT]

    /// Hardens the process, or ends it if that fails.
    static func begin() {
        _ = StartTracer.finding
        guard ProcessHardening.begin() else {
            StartError(
                "the process cannot be protected (\(SystemError.name(of: errno)))",
                hint: "start it outside the sandbox"
            ).tell()
            _exit(StartError.exitStatus)
        }
        silenceLibraries()
        signal(SIGPIPE, SIG_IGN)
        for crash in crashes { signal(crash, SIG_DFL) }
    }

    /// Keeps the TPM library from logging its traffic, which environment variables could enable.
    static func silenceLibraries() { unsafe setenv("TSS2_LOG", "all+NONE", 1) }

    /// Blocks the signals that end the daemon until the daemon handles them: none may end it half started, with its
    /// socket left behind.
    ///
    /// Threads inherit the mask; libdispatch reads the signals from signalfd(2), which needs them blocked.
    static func holdEndingSignals() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGTERM, SIGINT] { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
