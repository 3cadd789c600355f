internal import CLinux
internal import Glibc
public import KeychainModel

/// The directory of a keychain: keybag, device key, attempts and items.
///
/// Opened once, not through a symbolic link, accessible only to this user (mode 0700), and locked against other processes
/// for the lifetime of this value.
public final class StoreDirectory: Sendable {
    /// Its absolute path.
    public let path: String
    let descriptor: CInt
    /// Whether the end of this value unlocks it.
    private let isLocked: Bool

    /// Opens the directory, creating it and its parents if they are missing.
    ///
    /// - Throws: ``KeychainError`` with `errSecNotAvailable` if it is not a directory of this user with mode 0700, if
    ///   another process holds it, or if its keychain has moved (``MovedKeychain``).
    public init(path: String) throws(KeychainError) {
        self.path = path
        try Self.make(path)
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .refused("the directory cannot be opened: \(FileError.name(errno))")
        }
        do throws(KeychainError) {
            try Self.check(descriptor)
            try Self.lock(descriptor)
            // Read under the lock, which a move of the keychain holds too.
            if let place = MovedKeychain.destination(in: descriptor) { throw .moved(to: place) }
        } catch {
            flock(descriptor, LOCK_UN)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        isLocked = true
    }

    deinit {
        // Unlock explicitly: a child process being started may hold a copy of the descriptor, which close alone would not
        // unlock.
        if isLocked { flock(descriptor, LOCK_UN) }
        if descriptor >= 0 { close(descriptor) }
    }

    private static func check(_ descriptor: CInt) throws(KeychainError) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError.keychainError(errno) }
        guard status.st_uid == ProcessUser.uid else {
            throw .refused("the directory belongs to user \(status.st_uid)")
        }
        guard status.st_mode & 0o7777 == 0o700 else {
            throw .refused("the directory has mode \(String(status.st_mode & 0o7777, radix: 8)), not 700")
        }
    }

    // MARK: Another directory in its place

    /// Opens the existing directory that a path leads to, to look at it: not locked yet.
    private init?(lookingAt path: String) {
        descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        self.path = path
        isLocked = false
        guard descriptor >= 0, (try? Self.check(descriptor)) != nil,
            MovedKeychain.destination(in: descriptor) == nil
        else { return nil }
    }

    /// Whether the path still leads to this directory.
    var isInPlace: Bool {
        guard let open = FileIdentity(of: self) else { return false }
        return FileIdentity(atPath: path) == open
    }

    /// Goes on with the directory that the path leads to now, if this one was moved away and `isAccepted` is true for that.
    ///
    /// - Returns: whether this value is another directory from now on.
    func follow(if isAccepted: (StoreDirectory) -> Bool) -> Bool {
        guard !isInPlace, let found = StoreDirectory(lookingAt: path), isAccepted(found) else { return false }
        // Both descriptors are one open file afterwards, which has the lock until the last of them is closed (flock(2)).
        guard flock(found.descriptor, LOCK_EX | LOCK_NB) == 0, dup2(found.descriptor, descriptor) >= 0 else {
            return false
        }
        // Not at once, but programs are started without the descriptors of this one.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return true
    }

    /// Locks the directory; waits for a former owner that is about to exit.
    private static func lock(_ descriptor: CInt) throws(KeychainError) {
        for _ in 0..<100 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
            if let failure = lockFailure(errno) { throw failure }
            _ = poll(nil, 0, 5)
        }
        throw .refused("another touchstoned uses the directory")
    }

    /// The error for a lock that failed with `number`; nil if another process holds it, and a later try may succeed.
    static func lockFailure(_ number: CInt) -> KeychainError? {
        guard number != EWOULDBLOCK, number != EINTR else { return nil }
        return .refused("its file system cannot lock the directory: \(FileError.name(number))")
    }

    private static func make(_ path: String) throws(KeychainError) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else { throw .refused("the path is not absolute") }
        var place = ""
        for part in path.split(separator: "/") {
            place += "/" + part
            let made = unsafe mkdir(place, 0o700)
            guard made == 0 || errno == EEXIST || errno == EROFS || errno == EACCES else {
                throw FileError.keychainError(errno)
            }
        }
    }

    /// Opens a file of the directory after checking that it is a regular file that only this user can access.
    ///
    /// - Returns: its descriptor; nil if there is no file with this name.
    func openFile(_ name: String, _ mode: CInt) throws(KeychainError) -> CInt? {
        // Non-blocking, so that opening a FIFO put there by another program is refused instead of waiting.
        let file = unsafe openat(descriptor, name, mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if file < 0, errno == ENOENT { return nil }
        if file < 0, errno == ELOOP || errno == ENXIO { throw .refused("\(name) is not a plain file") }
        guard file >= 0 else { throw FileError.keychainError(errno) }
        do throws(KeychainError) {
            var status = stat()
            guard unsafe fstat(file, &status) == 0 else { throw FileError.keychainError(errno) }
            guard status.st_mode & S_IFMT == S_IFREG else { throw .refused("\(name) is not a plain file") }
            guard status.st_uid == ProcessUser.uid else {
                throw .refused("\(name) belongs to user \(status.st_uid)")
            }
            guard status.st_nlink == 1 else { throw .refused("\(name) has \(status.st_nlink) names") }
            guard status.st_mode & 0o7777 == 0o600 else {
                throw .refused("\(name) has mode \(String(status.st_mode & 0o7777, radix: 8)), not 600")
            }
        } catch {
            close(file)
            throw error
        }
        return file
    }

    /// Whether an entry with this name exists, whatever its type.
    func has(_ name: String) throws(KeychainError) -> Bool {
        guard unsafe faccessat(descriptor, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 else { return true }
        guard errno == ENOENT else { throw FileError.keychainError(errno) }
        return false
    }

    /// The size of a file in bytes; nil if it does not exist.
    func size(of file: StoreFile) throws(KeychainError) -> Int? {
        guard let descriptor = try openFile(file.rawValue, O_RDONLY) else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError.keychainError(errno) }
        return Int(status.st_size)
    }

    /// Creates an empty items file, replacing an existing one and SQLite's files beside it.
    func makeEmpty(_ name: StoreFile) throws(KeychainError) {
        try removeItems(name)
        // Created here, not by SQLite, so that no umask makes it accessible to others.
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(descriptor, name.rawValue, flags, 0o600)
        guard file >= 0 else { throw FileError.keychainError(errno) }
        defer { close(file) }
        guard fchmod(file, 0o600) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Removes an items file, and first SQLite's files beside it.
    func removeItems(_ name: StoreFile) throws(KeychainError) {
        for suffix in ["-mark", "-wal", "-shm", "-journal", ""] {
            let removed = unsafe unlinkat(descriptor, name.rawValue + suffix, 0)
            guard removed == 0 || errno == ENOENT else { throw FileError.keychainError(errno) }
        }
    }

    /// Renames a file to a name that is free.
    ///
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if it is taken.
    func rename(_ file: StoreFile, toFree name: String) throws(KeychainError) {
        guard unsafe clinux_rename_to_free(descriptor, file.rawValue, descriptor, name) == 0 else {
            throw errno == EEXIST ? KeychainError(.duplicateItem) : FileError.keychainError(errno)
        }
    }

    /// Removes a file, if it exists.
    func remove(_ file: StoreFile) throws(KeychainError) {
        let removed = unsafe unlinkat(descriptor, file.rawValue, 0)
        guard removed == 0 || errno == ENOENT else { throw FileError.keychainError(errno) }
    }

    /// Removes the temporary files of interrupted replacements of small files, and the former name of new items that have
    /// their own already.
    func removeUnfinished() {
        for file in [
            StoreFile.keybag, .keybagCopy, .deviceKey, .hardwareNotes, .attempts, .importMark, .repairMark,
            .setUpMark,
        ] {
            AtomicFile(file, in: self, longest: 0).removeUnfinished()
        }
        // Where a rename cannot be exclusive it is a link first (`clinux_rename_to_free`): an interruption leaves both names.
        if let new = FileIdentity(of: StoreFile.newItems.rawValue, in: self),
            new == FileIdentity(of: StoreFile.items.rawValue, in: self)
        {
            unsafe unlinkat(descriptor, StoreFile.newItems.rawValue, 0)
        }
    }

    /// Renames a file, replacing any file with the new name.
    func rename(_ file: StoreFile, to name: String) throws(KeychainError) {
        guard unsafe renameat(descriptor, file.rawValue, descriptor, name) == 0 else {
            throw FileError.keychainError(errno)
        }
    }

    /// Makes the content of a file durable.
    func sync(_ file: StoreFile) throws(KeychainError) {
        guard let file = try openFile(file.rawValue, O_RDONLY) else { throw FileError.keychainError(ENOENT) }
        defer { close(file) }
        guard fsync(file) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Makes changes of directory entries durable.
    func sync() throws(KeychainError) {
        guard fsync(descriptor) == 0 else { throw FileError.keychainError(errno) }
    }

    /// Refuses to start if a file of the store has an unexpected type, owner or mode.
    func checkFiles() throws(KeychainError) {
        for name in StoreFile.allCases {
            if let file = try openFile(name.rawValue, O_RDONLY) { close(file) }
        }
    }
}

extension KeychainError {
    static func refused(_ reason: String) -> KeychainError {
        KeychainError(.notAvailable, cause: DriverCause(domain: "store", code: reason), remedy: .check)
    }

    static var damaged: KeychainError {
        KeychainError(.decode, cause: .damaged, remedy: .check)
    }
}

/// Converts `errno` to a status.
enum FileError {
    static func keychainError(_ number: CInt) -> KeychainError {
        let status: Status =
            switch number {
            case ENOSPC, EDQUOT: .diskFull
            case EROFS, EACCES, EPERM: .readOnly
            case ENOMEM: .allocate
            default: .io
            }
        return KeychainError(status, cause: DriverCause(domain: "system", code: name(number)))
    }

    static func name(_ number: CInt) -> String {
        switch number {
        case EACCES: "EACCES"
        case EDQUOT: "EDQUOT"
        case EIO: "EIO"
        case ENOLCK: "ENOLCK"
        case ENOSPC: "ENOSPC"
        case ENOTDIR: "ENOTDIR"
        case EOPNOTSUPP: "EOPNOTSUPP"
        case EPERM: "EPERM"
        case EROFS: "EROFS"
        default: "errno \(number)"
        }
    }
}
