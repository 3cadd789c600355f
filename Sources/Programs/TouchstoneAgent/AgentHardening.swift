import CLinux
import Glibc
import SecretMemory

/// The agent's hardening beyond ``ProcessHardening``, done first: nothing inherited from the caller remains.
enum AgentHardening {
    /// Signals of terminal keys and of disconnected peers: a prompt ends in an orderly way, or not at all.
    private static let ignored = [SIGPIPE, SIGQUIT, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2, SIGALRM]
    /// A socket, two for each pinentry program, and those of the libraries.
    private static let mostDescriptors: UInt64 = 256

    /// Hardens the process, or ends it if that fails.
    ///
    /// - Returns: whether the process was started under no-new-privileges, and so without the group of its file.
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
        // The caller's directory may have been deleted, or may have to be unmounted.
        _ = unsafe chdir("/")
        unsafe clinux_process_begin_signals(ignored, ignored.count)
        return wasConfined
    }
}
