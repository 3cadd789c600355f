import Glibc

/// Whose keychain a daemon keeps: who may connect to it, whose terminals and fingers count.
///
/// Made once, where a program starts, and passed on. It need not be the user that the process runs as
/// (``ProcessUser``), whose own the process's files have to be.
package struct Owner: Sendable, Hashable {
    /// The user's number.
    package let uid: UInt32
    /// The user's name; nil for a number that has none.
    package let name: String?

    /// Names a user.
    package init(uid: UInt32, name: String?) {
        self.uid = uid
        self.name = name
    }

    /// The user that this process runs as.
    package static func ofThisProcess() -> Owner {
        let uid = ProcessUser.uid
        return Owner(uid: uid, name: name(of: uid))
    }

    /// The user of a number; nil where the system knows none.
    package static func user(_ uid: UInt32) -> Owner? {
        name(of: uid).map { Owner(uid: uid, name: $0) }
    }

    /// The user of this name; nil where there is none.
    package static func named(_ name: String) -> Owner? {
        var entry = unsafe passwd()
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var found: UnsafeMutablePointer<passwd>?
        guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe Owner(uid: entry.pw_uid, name: name)
    }

    /// The name of a user; nil for a number that has none.
    package static func name(of uid: UInt32) -> String? {
        var entry = unsafe passwd()
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var found: UnsafeMutablePointer<passwd>?
        guard unsafe getpwuid_r(uid, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil,
            let name = unsafe entry.pw_name
        else { return nil }
        return unsafe String(cString: name)
    }
}

/// The user that this process runs as: files and directories that are to be the process's own belong to it.
package enum ProcessUser {
    /// Its number, the effective one.
    package static var uid: UInt32 { geteuid() }
}
