import Glibc
import KeychainModel

/// An open directory whose entries are accessed relative to its descriptor, never through a symbolic link.
final class OpenDirectory {
    /// The most entries that are read.
    private static let mostNames = 4096

    let descriptor: CInt
    /// The path at the time of opening, for messages.
    let path: String

    private init(_ descriptor: CInt, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        // Unlock explicitly: a child process being started may hold a copy of the descriptor, which close alone would not
        // unlock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Opens a directory owned by `owner` that no other user may write to, with mode 0700 if `isPrivate`; nil if it does
    /// not exist.
    static func open(_ path: String, owner: UInt32, isPrivate: Bool = true) throws(MoveError)
        -> OpenDirectory?
    {
        try open(AT_FDCWD, path, path, owner: owner, isPrivate: isPrivate)
    }

    /// Opens a subdirectory by the same rules.
    func directory(_ name: String, owner: UInt32) throws(MoveError) -> OpenDirectory? {
        try Self.open(descriptor, name, path + "/" + name, owner: owner, isPrivate: true)
    }

    private static func open(
        _ parent: CInt,
        _ name: String,
        _ path: String,
        owner: UInt32,
        isPrivate: Bool
    ) throws(MoveError) -> OpenDirectory? {
        let descriptor = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            guard errno == ELOOP || errno == ENOTDIR else { throw .system(path) }
            throw MoveError(.unsafePlace, "\(path) is not a directory", hint: "move it away")
        }
        let directory = OpenDirectory(descriptor, path)
        let status = try directory.status()
        guard status.st_uid == owner else {
            throw MoveError(.unsafePlace, "\(path) belongs to user \(status.st_uid), not to \(owner)")
        }
        let isSafe = isPrivate ? status.st_mode & 0o7777 == 0o700 : status.st_mode & 0o022 == 0
        guard isSafe else {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            throw MoveError(
                .unsafePlace,
                "\(path) has mode \(mode)",
                hint: "chmod \(isPrivate ? "700" : "go-w") \(path)"
            )
        }
        return directory
    }

    func status() throws(MoveError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw .system(path) }
        return status
    }

    /// All names, sorted by their bytes.
    func names() throws(MoveError) -> [String] {
        // A second open file description, so that the position of `descriptor` does not change.
        let copy = unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = unsafe fdopendir(copy) else { throw .system(path) }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            let octets = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe Array(name.prefix { $0 != 0 })
            }
            // A name that is not UTF-8 cannot be a keychain file.
            guard let name = String(validating: octets, as: UTF8.self), name != ".", name != ".." else {
                continue
            }
            names.append(name)
            guard names.count <= Self.mostNames else {
                throw MoveError(.unsafePlace, "\(path) has more than \(Self.mostNames) files")
            }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The names of a keychain's files.
    func storeNames() throws(MoveError) -> [String] { try names().filter(StoreFile.isPart) }

    /// Whether an entry of this name exists, whatever its type.
    func has(_ name: String) throws(MoveError) -> Bool {
        var status = stat()
        guard unsafe fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) != 0 else { return true }
        guard errno == ENOENT else { throw .system(path + "/" + name) }
        return false
    }

    /// Writes a new file and makes its content durable; its group is `group`, or the process's own group.
    func writeFile(_ name: String, _ text: String, mode: mode_t, group: UInt32? = nil) throws(MoveError) {
        let place = path + "/" + name
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(descriptor, name, flags, 0o600)
        guard file >= 0 else { throw .system(place) }
        defer { close(file) }
        let octets = Array(text.utf8)
        let count = unsafe write(file, octets, octets.count)
        guard count == octets.count else { throw .system(place, count < 0 ? errno : ENOSPC) }
        if let group {
            guard fchown(file, uid_t.max, group) == 0 else { throw .system(place) }
        }
        guard fchmod(file, mode) == 0, fsync(file) == 0 else { throw .system(place) }
    }

    /// Creates a directory with mode 0700, unless it exists.
    func make(_ name: String) throws(MoveError) {
        guard unsafe mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
            throw .system(path + "/" + name)
        }
    }

    /// Removes a file, if it exists.
    func remove(_ name: String) throws(MoveError) {
        guard unsafe unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
            throw .system(path + "/" + name)
        }
    }

    /// Removes an empty directory, if it exists.
    func removeDirectory(_ name: String) throws(MoveError) {
        guard unsafe unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
            throw .system(path + "/" + name)
        }
    }

    /// Renames an entry, also into another directory; fails if the new name exists.
    func rename(_ name: String, to target: OpenDirectory? = nil, _ newName: String) throws(MoveError) {
        let target = target ?? self
        guard try !target.has(newName) else { throw .system(target.path + "/" + newName, EEXIST) }
        guard unsafe renameat(descriptor, name, target.descriptor, newName) == 0 else {
            throw .system(path + "/" + name)
        }
    }

    /// Makes changes of directory entries durable.
    func sync() throws(MoveError) {
        guard fsync(descriptor) == 0 else { throw .system(path) }
    }

    /// The free bytes on this file system that a user without privileges may use.
    func room() throws(MoveError) -> UInt64 {
        var status = statvfs()
        guard unsafe fstatvfs(descriptor, &status) == 0 else { throw .system(path) }
        return UInt64(status.f_bavail) * UInt64(status.f_frsize)
    }
}
