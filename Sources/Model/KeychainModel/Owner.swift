import Glibc

/// The user whose keychain a daemon keeps: whose processes may connect, and whose terminals and fingers count.
///
/// Created once at program start and passed on. It may differ from the user that the process runs as
/// (``ProcessUser``), who must own the process's files.
package struct Owner: Sendable, Hashable {
    /// The user's uid.
    package let uid: UInt32
    /// The user's name; nil for a uid without a name.
    package let name: String?

    /// Describes a user.
    package init(uid: UInt32, name: String?) {
        self.uid = uid
        self.name = name
    }

    /// The user that this process runs as.
    package static func ofThisProcess() -> Owner {
        let uid = ProcessUser.uid
        return Owner(uid: uid, name: name(of: uid))
    }

    /// The user with a uid; nil if the system knows none.
    package static func user(_ uid: UInt32) -> Owner? {
        name(of: uid).map { Owner(uid: uid, name: $0) }
    }

    /// The user with this name; nil if there is none.
    package static func named(_ name: String) -> Owner? {
        var entry = unsafe passwd()
        var buffer = [CChar](repeating: 0, count: 16 << 10)
        var found: UnsafeMutablePointer<passwd>?
        guard unsafe getpwnam_r(name, &entry, &buffer, buffer.count, &found) == 0, unsafe found != nil else {
            return nil
        }
        return unsafe Owner(uid: entry.pw_uid, name: name)
    }

    /// The name of a user; nil for a uid without a name.
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

/// The user that this process runs as, who must own the process's own files and directories.
package enum ProcessUser {
    /// The effective uid.
    package static var uid: UInt32 { geteuid() }
}
