import Glibc
import KeychainModel

/// Checks who can replace a program.
enum ProgramOwnership {
    /// Whether the file, and each directory on its path, belongs to this user or root and is not writable by others;
    /// the user's private group may write.
    ///
    /// In a directory with the sticky bit, such as `/tmp`, others can add files but not replace this one.
    static func isOurs(_ path: String) -> Bool {
        guard let resolved = unsafe realpath(path, nil) else { return false }
        defer { unsafe free(resolved) }
        var place = unsafe String(cString: resolved)
        guard isOurs(place, isDirectory: false) else { return false }
        while let slash = place.lastIndex(of: "/") {
            place = String(place[..<slash])
            guard isOurs(place.isEmpty ? "/" : place, isDirectory: true) else { return false }
        }
        return true
    }

    private static func isOurs(_ path: String, isDirectory: Bool) -> Bool {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_uid == 0 || status.st_uid == ProcessUser.uid else {
            return false
        }
        if isDirectory, status.st_mode & S_ISVTX != 0 { return true }
        // With umask(1) 002, as on Ubuntu, a user's files are writable by the user's private group.
        let writers = status.st_mode & 0o022
        return writers == 0
            || writers == 0o020 && isPrivate(status.st_gid, of: ProcessUser.uid, groups: groups())
    }

    /// Whether `group` is a user's private group: it has the user's number and no other member in `groups`, the text of
    /// group(5).
    static func isPrivate(_ group: gid_t, of user: uid_t, groups: String) -> Bool {
        guard user != 0, group == user else { return false }
        let entries = groups.split(separator: "\n").map {
            $0.split(separator: ":", omittingEmptySubsequences: false)
        }
        guard let entry = entries.first(where: { $0.count == 4 && gid_t($0[2]) == group }) else {
            return false
        }
        return entry[3].isEmpty || entry[3] == entry[0]
    }

    /// The text of `/etc/group`, read without the name services, which a static program does not have.
    private static func groups() -> String { SystemFile.text("/etc/group") }
}
