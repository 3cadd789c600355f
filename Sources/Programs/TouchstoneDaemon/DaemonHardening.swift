import Glibc
import KeychainModel
import SecretMemory

/// What the daemon does beyond ``ProcessHardening`` before anything else: its libraries and its signals.
enum DaemonHardening {
    /// Signals after which the kernel would write a core, or Swift a report of the crash.
    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT]

    /// Hardens the process, or ends it where that cannot be.
    static func begin() {
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

    /// Keeps the TPM's library from printing what passes through it, as its environment could tell it to.
    static func silenceLibraries() { unsafe setenv("TSS2_LOG", "all+NONE", 1) }

    /// Lets the signals that end the daemon wait until somebody listens to them: none may end it half started, with
    /// its socket left behind.
    ///
    /// Threads inherit it; libdispatch takes them from signalfd(2), which is for blocked ones.
    static func holdEndingSignals() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGTERM, SIGINT] { unsafe sigaddset(&signals, number) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}
