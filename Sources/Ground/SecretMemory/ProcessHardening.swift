import CLinux
import Glibc

/// What each program of the system's side gives up before it does anything else.
package enum ProcessHardening {
    /// In this order: nobody may look into the process, no trace of it is written, nothing can be gained.
    ///
    /// - Returns: false where the system does not do it; `errno` says why.
    package static func begin() -> Bool {
        guard clinux_process_forbid_dump() == 0, clinux_process_forbid_core() == 0,
            clinux_process_no_new_privileges() == 0
        else { return false }
        // Linux 6.3; an older kernel does without.
        _ = clinux_process_refuse_exec_gain()
        _ = umask(0o077)
        return true
    }
}
