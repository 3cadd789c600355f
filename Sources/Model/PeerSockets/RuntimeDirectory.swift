import Glibc
import KeychainModel
import SystemFacts

/// A directory that only this user may enter: mode 0700, no symbolic link.
public enum RuntimeDirectory {
    /// Creates the directory and its parents if missing, and checks it.
    ///
    /// - Throws: ``ServerError`` `unsafePath` for a directory that others may enter or that belongs to another user.
    public static func prepare(_ path: String) throws(ServerError) {
        try make(path)
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ELOOP || errno == ENOTDIR else {
                throw ServerError(call: "open \(path)", errno: errno)
            }
            throw ServerError(.unsafePath, "\(path) is not a directory")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw ServerError(call: "fstat \(path)", errno: errno)
        }
        guard status.st_uid == ProcessUser.uid else {
            throw ServerError(.unsafePath, "\(path) belongs to user \(status.st_uid)")
        }
        guard status.st_mode & 0o777 == 0o700 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw ServerError(.unsafePath, "\(path) has mode \(mode) instead of 700")
        }
    }

    private static func make(_ path: String) throws(ServerError) {
        if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        let parent = ProgramPath.directory(of: path)
        guard errno == ENOENT, !parent.isEmpty, parent != path else {
            throw ServerError(call: "mkdir \(path)", errno: errno)
        }
        try make(parent)
        guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw ServerError(call: "mkdir \(path)", errno: errno)
        }
    }
}
