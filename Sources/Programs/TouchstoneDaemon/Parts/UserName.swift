import Glibc

/// The name of this process's user, which a passcode must not be made of.
enum UserName {
    static func current() -> String? {
        var entry = unsafe passwd()
        var buffer = [CChar](repeating: 0, count: 4096)
        var found: UnsafeMutablePointer<passwd>?
        guard unsafe getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil,
            let name = unsafe entry.pw_name
        else { return nil }
        return unsafe String(cString: name)
    }
}
