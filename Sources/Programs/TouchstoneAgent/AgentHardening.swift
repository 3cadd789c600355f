import CLinux
import Glibc
import SecretMemory

/// What the agent does beyond ``ProcessHardening`` before anything else, whoever started it: nothing of the caller's stays.
enum AgentHardening {
    /// Signals of the terminal's keys and of peers that are gone: a box ends in order, or not at all.
    private static let ignored = [SIGPIPE, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM]
    /// A socket, two for each program that draws, and what the library needs.
    private static let mostDescriptors: UInt64 = 256

    /// Hardens the process, or ends it where that cannot be.
    ///
    /// - Returns: whether the process was started where no program gains rights, and so without the group of its file.
    static func begin() -> Bool {
        let wasConfined = clinux_process_has_no_new_privileges()
        guard ProcessHardening.begin(), clinux_keep_standard_descriptors() == 0 else {
            AgentFailure(
                message: "the process cannot be protected",
                hint: "start it outside the sandbox"
            ).tell()
            _exit(AgentFailure.cannotServe)
        }
        clinux_process_allow_descriptors(mostDescriptors)
        // The caller's directory may be gone, or one that is to be unmounted.
        _ = unsafe chdir("/")
        unsafe clinux_process_begin_signals(ignored, ignored.count)
        return wasConfined
    }
}
