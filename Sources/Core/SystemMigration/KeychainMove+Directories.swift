import Glibc
import KeychainModel

/// The directories of a move: opens and locks them, and disables or enables the user's own directory.
extension KeychainMove {
    /// Opens the directory of all users' keychains and locks it: one move at a time.
    func systemDirectory() throws(MoveError) -> OpenDirectory {
        let path = places.systemDirectory
        let isNew = unsafe mkdir(path, 0o755) == 0
        guard isNew || errno == EEXIST else { throw .system(path) }
        // The process's umask may have removed required mode bits.
        if isNew {
            guard unsafe chmod(path, 0o755) == 0 else { throw .system(path) }
        }
        guard let system = try OpenDirectory.open(path, owner: places.administrator, isPrivate: false)
        else {
            throw .system(path, ENOENT)
        }
        guard flock(system.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw MoveError(.busy, "another keychain is being moved", hint: "wait for it, then run it again")
        }
        // Every later step depends on this directory entry, so make it durable.
        try syncParent(of: path)
        return system
    }

    private func syncParent(of path: String) throws(MoveError) {
        let parent = path.split(separator: "/").dropLast().map { "/" + $0 }.joined()
        let descriptor = unsafe open(parent.isEmpty ? "/" : parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(parent) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(parent) }
    }

    /// Opens the user's directory, creating it if it is missing, and locks it against daemons.
    func lockedUserDirectory() throws(MoveError) -> OpenDirectory {
        let own = try asUser { () throws(MoveError) in
            try makeUserDirectory()
            return try OpenDirectory.open(places.userDirectory, owner: places.user.uid)
        }
        guard let own else { throw .system(places.userDirectory, ENOENT) }
        try DirectoryHold.take(own, from: places.user)
        return own
    }

    /// A daemon of the user whose keychain is in a directory other than the user's directory, because its `XDG_DATA_HOME`
    /// differs from the one root knows; nil if none runs.
    ///
    /// - Throws: ``MoveError`` `system` if a daemon of the user cannot be inspected.
    package func otherDaemon() throws(MoveError) -> (process: Int32, directory: String)? {
        var own = stat()
        let isThere = unsafe stat(places.userDirectory, &own) == 0
        // A directory with another name comes from `TOUCHSTONE_HOME`, which system mode does not touch.
        return try DirectoryHold.directories(of: places.user.uid).first { found in
            var other = stat()
            guard found.directory.hasSuffix("/touchstone"), unsafe stat(found.directory, &other) == 0 else {
                return false
            }
            return !isThere || own.st_ino != other.st_ino || own.st_dev != other.st_dev
        }
    }

    /// Marks the user's directory as moved, so that its keychain no longer counts; creates the directory if it is
    /// missing.
    func mark(_ known: OpenDirectory? = nil) throws(MoveError) {
        try asUser { () throws(MoveError) in
            if known == nil { try makeUserDirectory() }
            var opened = known
            if opened == nil {
                opened = try OpenDirectory.open(places.userDirectory, owner: places.user.uid)
            }
            guard let own = opened else { throw .system(places.userDirectory, ENOENT) }
            guard MovedKeychain.destination(in: own.descriptor) != places.keptDirectory else { return }
            try writeMark(in: own)
        }
    }

    func writeMark(in own: OpenDirectory) throws(MoveError) {
        let (name, temporary) = (MovedKeychain.name, MovedKeychain.name + ".new")
        try own.remove(temporary)
        try own.writeFile(temporary, MovedKeychain.text(destination: places.keptDirectory), mode: 0o600)
        guard unsafe renameat(own.descriptor, temporary, own.descriptor, name) == 0 else {
            throw .system(own.path + "/" + name)
        }
        try own.sync()
    }

    func unmark() throws(MoveError) {
        try asUser { () throws(MoveError) in
            guard let own = try OpenDirectory.open(places.userDirectory, owner: places.user.uid) else {
                return
            }
            try own.remove(MovedKeychain.name)
            try own.sync()
        }
    }

    /// Creates the user's directory and its parents with the modes that the user's daemon would use.
    func makeUserDirectory() throws(MoveError) {
        var place = ""
        for part in places.userDirectory.split(separator: "/") {
            place += "/" + part
            guard
                unsafe mkdir(place, 0o700) == 0 || errno == EEXIST || errno == EROFS || errno == EACCES
            else { throw .system(place) }
        }
    }
}
