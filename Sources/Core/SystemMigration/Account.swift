import Glibc
package import KeychainModel

/// A Unix user account: the owner of files, and the credentials with which they are accessed.
package struct Account: Sendable, Equatable {
    package let uid: UInt32
    package let gid: UInt32
    /// All groups, the primary group first.
    package let groups: [UInt32]

    /// Creates an account from its numbers.
    package init(uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// Looks up an account's supplementary groups in the user database.
    package init(_ user: UserDatabase.User, in database: UserDatabase) {
        let others = database.groups.filter { $0.members.contains(user.name) && $0.gid != user.gid }
        self.init(uid: user.uid, gid: user.gid, groups: [user.gid] + others.map(\.gid))
    }

    /// Runs `body` with the effective credentials of this account; runs it unchanged if the process already has them.
    ///
    /// The kernel then refuses every file that the account itself may not open, whatever symbolic links lead to it. The
    /// change applies to the whole process: no other thread may run meanwhile.
    func acting<R>(_ body: () throws(MoveError) -> R) throws(MoveError) -> R {
        let own = ProcessUser.uid
        guard own != uid else { return try body() }
        var former = [gid_t](repeating: 0, count: 1 << 16)
        let count = unsafe getgroups(CInt(former.count), &former)
        let group = getegid()
        guard count >= 0, unsafe setgroups(groups.count, groups) == 0 else { throw .system("setgroups") }
        defer {
            // The process must not continue with credentials other than those it started with.
            guard seteuid(own) == 0, setegid(group) == 0, unsafe setgroups(Int(count), former) == 0 else {
                abort()
            }
        }
        guard setegid(gid) == 0, seteuid(uid) == 0 else { throw .system("seteuid \(uid)") }
        return try body()
    }
}
