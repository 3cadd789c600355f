import Glibc
package import KeychainModel

/// A user of the system: whose files are whose, and with whose rights they are reached.
package struct Account: Sendable, Equatable {
    package let uid: UInt32
    package let gid: UInt32
    /// All groups, the first one among them.
    package let groups: [UInt32]

    /// Names a user and the groups.
    package init(uid: UInt32, gid: UInt32, groups: [UInt32]) {
        self.uid = uid
        self.gid = gid
        self.groups = groups
    }

    /// A user with all groups.
    package init(_ user: UserDatabase.User, in database: UserDatabase) {
        let others = database.groups.filter { $0.members.contains(user.name) && $0.gid != user.gid }
        self.init(uid: user.uid, gid: user.gid, groups: [user.gid] + others.map(\.gid))
    }

    /// Runs `body` with the rights of this account alone, as root; as that account itself, just runs it.
    ///
    /// The kernel then refuses all that the account itself may not open, whatever links lie in the way. It holds for the
    /// whole process: nothing else may run meanwhile.
    func acting<R>(_ body: () throws(MoveError) -> R) throws(MoveError) -> R {
        let own = ProcessUser.uid
        guard own != uid else { return try body() }
        var former = [gid_t](repeating: 0, count: 1 << 16)
        let count = unsafe getgroups(CInt(former.count), &former)
        let group = getegid()
        guard count >= 0, unsafe setgroups(groups.count, groups) == 0 else { throw .system("setgroups") }
        defer {
            // With more or other rights than it began with the process must not go on.
            guard seteuid(own) == 0, setegid(group) == 0, unsafe setgroups(Int(count), former) == 0 else {
                abort()
            }
        }
        guard setegid(gid) == 0, seteuid(uid) == 0 else { throw .system("seteuid \(uid)") }
        return try body()
    }
}
