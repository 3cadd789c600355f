import CLinux
import Glibc
import KeychainModel

/// What the process gives up before it does anything else.
enum Hardening {
    /// Signals after which the kernel would write a core, or Swift a report of the crash.
    private static let crashes = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGQUIT]

    /// In this order: nobody may look into the process, no trace of it is written, nothing can be gained.
    static func begin() {
        guard clinux_process_forbid_dump() == 0, clinux_process_forbid_core() == 0,
            clinux_process_no_new_privileges() == 0
        else {
            StartError(
                "the process cannot be protected (\(SystemError.name(of: errno)))",
                hint: "start it outside the sandbox"
            ).tell()
            _exit(StartError.exitStatus)
        }
        // Linux 6.3; an older kernel does without.
        _ = clinux_process_refuse_exec_gain()
        _ = umask(0o077)
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
