import Glibc

/// The login that a process comes from: the kernel's audit session (pam_loginuid(8)).
///
/// A login begins it with a new number, and every child inherits it, in new terminals and panes too. A process without
/// privileges can begin a new one where it has none, and cannot join another.
package enum KernelLogin {
    /// The number of no session, as `/proc/PID/sessionid` and `/proc/PID/loginuid` have it.
    private static let none = UInt32.max

    /// The session of a process.
    ///
    /// - Parameters:
    ///   - process: its pid; the caller checks that it is still the same process.
    ///   - user: whose login it has to be.
    /// - Returns: its number, which no other login since the boot has; nil without one, for a session that began with another
    ///   user's login, as after `su -`, and if the kernel does not tell.
    package static func number(of process: Int32, user: UInt32) -> UInt32? {
        guard value("loginuid", of: process) == user else { return nil }
        return value("sessionid", of: process)
    }

    private static func value(_ name: String, of process: Int32) -> UInt32? {
        guard process > 0, let text = try? SmallFile.text("/proc/\(process)/\(name)", atMost: 32),
            let number = UInt32(text.prefix { $0.isASCII && $0.isNumber }), number != none
        else { return nil }
        return number
    }
}
