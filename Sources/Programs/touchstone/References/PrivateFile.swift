import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// A file for secrets: readable by its owner only, and either complete or absent.
struct PrivateFile {
    private let path: String
    private let replaces: Bool

    /// Plans a file without creating it.
    ///
    /// - Throws: ``CommandError`` with the status "exists already".
    init(_ path: String, replaces: Bool) throws(CommandError) {
        self.path = path
        self.replaces = replaces
        var status = stat()
        let isThere = unsafe lstat(path, &status) == 0
        guard replaces || !isThere else { throw Self.exists(path) }
    }

    /// Writes a temporary file beside the target and moves it there.
    func write(_ secret: borrowing SecretBytes) throws(CommandError) {
        let suffix = RandomBytes.array(count: 8).map { String($0, radix: 16) }.joined()
        let beside = "\(path).\(suffix)"
        let descriptor = unsafe open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(errno) }
        defer { close(descriptor) }
        // The caller's umask could have removed the owner's own permissions.
        let isWritten =
            fchmod(descriptor, 0o600) == 0 && Descriptor.write(secret, to: descriptor)
            && fsync(descriptor) == 0
        // link(2) fails if the name exists; rename(2) replaces it.
        var isThere = false
        if isWritten { isThere = unsafe (replaces ? rename(beside, path) : link(beside, path)) == 0 }
        let reason = errno
        if !isThere || !replaces { unsafe unlink(beside) }
        if isThere { return }
        throw reason == EEXIST && !replaces ? Self.exists(path) : failure(reason)
    }

    private func failure(_ reason: CInt) -> CommandError {
        CommandError(
            "cannot write \(path): \(SystemError.name(of: reason))",
            hint: "name a file in a directory that you may write"
        )
    }

    private static func exists(_ path: String) -> CommandError {
        CommandError(
            "\(path) is there already; nothing was written",
            hint: "use --replace to replace it",
            exitCode: .existsAlready
        )
    }
}
