import Glibc
import KeychainModel

/// The directories of a move: opened and locked, and the user's own put out of force and in force.
extension KeychainMove {
    /// The directory of all users' keychains, locked: one move at a time.
    func systemDirectory() throws(MoveError) -> OpenDirectory {
        let path = places.systemDirectory
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { throw .system(path) }
        guard let system = try OpenDirectory.open(path, owner: places.administrator, isPrivate: false)
        else {
            throw .system(path, ENOENT)
        }
        guard flock(system.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw MoveError(.busy, "another keychain is being moved", hint: "wait for it, then run it again")
        }
        return system
    }

    /// The user's directory, made where it is missing, and locked against daemons.
    func lockedUserDirectory() throws(MoveError) -> OpenDirectory {
        let own = try asUser { () throws(MoveError) in
            try makeUserDirectory()
            return try OpenDirectory.open(places.userDirectory, owner: places.user.uid)
        }
        guard let own else { throw .system(places.userDirectory, ENOENT) }
        try DirectoryHold.take(own, from: places.user)
        return own
    }

    /// Puts the user's directory out of force; makes it where it is missing.
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
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(own.descriptor, temporary, flags, 0o600)
        guard file >= 0 else { throw .system(own.path + "/" + temporary) }
        defer { close(file) }
        let text = Array(MovedKeychain.text(destination: places.keptDirectory).utf8)
        let count = unsafe write(file, text, text.count)
        guard count == text.count, fsync(file) == 0 else {
            throw .system(own.path + "/" + temporary, count < 0 || count == text.count ? errno : ENOSPC)
        }
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

    /// Makes the user's directory and those above it, as the user's daemon would.
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
