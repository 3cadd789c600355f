import CLinux
import Glibc

/// The rights that each program of this project gives up before it does anything else.
package enum ProcessHardening {
    /// In this order: no inspection by other processes, no core dump, no new privileges.
    ///
    /// - Returns: false if the system refuses one of them; `errno` says why.
    package static func begin() -> Bool {
        guard clinux_process_forbid_dump() == 0, clinux_process_forbid_core() == 0,
            clinux_process_no_new_privileges() == 0
        else { return false }
        // Linux 6.3; an older kernel goes without.
        _ = clinux_process_refuse_exec_gain()
        _ = umask(0o077)
        return true
    }
}
