import CLinux
import Glibc

/// What the process does before anything else, whoever started it.
enum AgentHardening {
    /// Signals of the terminal's keys and of peers that are gone: a box ends in order, or not at all.
    private static let ignored = [SIGPIPE, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM]
    /// A socket, two for each program that draws, and what the library needs.
    private static let mostDescriptors: UInt64 = 256

    /// In this order: nobody may look into the process, no trace of it is written, nothing of the caller's stays.
    ///
    /// - Returns: whether the process was started where no program gains rights, and so without the group of its file.
    static func begin() -> Bool {
        let wasConfined = clinux_process_has_no_new_privileges()
        guard clinux_process_forbid_dump() == 0, clinux_process_forbid_core() == 0,
            clinux_keep_standard_descriptors() == 0, clinux_process_no_new_privileges() == 0
        else {
            AgentFailure(
                message: "the process cannot be protected",
                hint: "start it outside the sandbox"
            ).tell()
            _exit(AgentFailure.cannotServe)
        }
        // Linux 6.3; an older kernel does without.
        _ = clinux_process_refuse_exec_gain()
        clinux_process_allow_descriptors(mostDescriptors)
        _ = umask(0o077)
        // The caller's directory may be gone, or one that is to be unmounted.
        _ = unsafe chdir("/")
        unsafe clinux_process_begin_signals(ignored, ignored.count)
        return wasConfined
    }
}
