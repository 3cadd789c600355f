import Glibc

/// Who can put another program in the place of one.
enum ProgramOwnership {
    /// Whether the file, and each directory on the way to it, belongs to this user or root and nobody else may write there.
    ///
    /// In a directory with the sticky bit, such as `/tmp`, others can add files but not exchange this one.
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
        guard unsafe lstat(path, &status) == 0, status.st_uid == 0 || status.st_uid == geteuid() else {
            return false
        }
        return status.st_mode & 0o022 == 0 || isDirectory && status.st_mode & S_ISVTX != 0
    }
}
