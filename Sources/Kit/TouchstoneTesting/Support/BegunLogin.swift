import Glibc

/// Beginning a login as pam_loginuid(8) does, which needs a capability and a kernel that audits logins.
package enum BegunLogin {
    /// Why tests that begin a login are skipped where it is not possible.
    package static let needs = "needs root and a kernel that audits logins"

    /// Whether a process may begin a login here: tried by a child.
    package static let isPossible: Bool = {
        guard geteuid() == 0, unsafe access("/proc/self/loginuid", W_OK) == 0 else { return false }
        let child = unsafe popen("echo 0 2>/dev/null > /proc/self/loginuid && cat /proc/self/sessionid", "r")
        guard let child = unsafe child else { return false }
        var octets = [UInt8](repeating: 0, count: 32)
        let count = unsafe fread(&octets, 1, octets.count, child)
        let status = unsafe pclose(child)
        let text = String(decoding: octets[..<count], as: UTF8.self)
        return status == 0 && UInt32(text.prefix { $0.isNumber }).map { $0 != .max } ?? false
    }()
}
