/// Users and groups from passwd(5) and group(5): a static program has no access to the name services.
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

    /// Reads both files; one that cannot be read counts as empty.
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
        guard let octets = try? SmallFile.bytes(path, atMost: .max) else { return [] }
        // Comments in the file may be invalid UTF-8.
        let text = String(decoding: octets, as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            return parts.count == fields ? parts : nil
        }
    }

    /// The user with this name, or with this uid in digits.
    package func user(_ text: String) -> User? {
        users.first { $0.name == text } ?? UInt32(text).flatMap { uid in users.first { $0.uid == uid } }
    }

    /// The group with this name.
    package func group(_ name: String) -> Group? { groups.first { $0.name == name } }

    /// All users in a group, as a member or by their primary group.
    package func members(of group: Group) -> [String] {
        Set(group.members + users.filter { $0.gid == group.gid }.map(\.name)).sorted()
    }
}
