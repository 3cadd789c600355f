/// Users and groups, as passwd(5) and group(5) have them: the name services are not in a static program.
package struct UserDatabase: Sendable {
    /// One user.
    package struct User: Sendable, Equatable {
        package let name: String
        package let uid: UInt32
        package let gid: UInt32
        package let home: String
    }
    /// One group.
    package struct Group: Sendable, Equatable {
        package let name: String
        package let gid: UInt32
        package let members: [String]
    }

    package let users: [User]
    package let groups: [Group]

    /// Reads both files; what cannot be read has nobody.
    package init(users: String = "/etc/passwd", groups: String = "/etc/group") {
        self.users = Self.lines(of: users, fields: 7).compactMap { fields in
            guard let uid = UInt32(fields[2]), let gid = UInt32(fields[3]) else { return nil }
            return User(name: fields[0], uid: uid, gid: gid, home: fields[5])
        }
        self.groups = Self.lines(of: groups, fields: 4).compactMap { fields in
            guard let gid = UInt32(fields[2]) else { return nil }
            return Group(name: fields[0], gid: gid, members: fields[3].split(separator: ",").map(String.init))
        }
    }

    private static func lines(of path: String, fields: Int) -> [[String]] {
        guard let octets = SmallFile.bytes(path, upTo: 16 << 20) else { return [] }
        // Comments in it need not be text.
        let text = String(decoding: octets, as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            return parts.count == fields ? parts : nil
        }
    }

    /// The user of this name, or of this number in digits.
    package func user(_ text: String) -> User? {
        users.first { $0.name == text } ?? UInt32(text).flatMap { uid in users.first { $0.uid == uid } }
    }

    /// The group of this name.
    package func group(_ name: String) -> Group? { groups.first { $0.name == name } }

    /// All who are in a group, as a member or by their own group.
    package func members(of group: Group) -> [String] {
        Set(group.members + users.filter { $0.gid == group.gid }.map(\.name)).sorted()
    }
}
