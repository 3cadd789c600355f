import Glibc
import KeychainModel

/// Removes the copies that are no longer needed after a move.
extension KeychainMove {
    /// Removes a directory of the account with the files in it.
    func removeKept(_ name: String, in system: OpenDirectory) throws(MoveError) {
        guard try system.has(name) else { return }
        let root = places.administrator
        // Root owns the directory while it is created, the account owns it afterwards.
        let descriptor = unsafe openat(
            system.descriptor,
            name,
            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        )
        guard descriptor >= 0 else { throw .system(system.path + "/" + name) }
        var status = stat()
        let isThere = unsafe fstat(descriptor, &status) == 0
        close(descriptor)
        guard isThere, status.st_uid == root || status.st_uid == places.keeper.uid,
            let directory = try system.directory(name, owner: status.st_uid)
        else {
            throw MoveError(.unsafePlace, "\(system.path)/\(name) belongs to user \(status.st_uid)")
        }
        let account = status.st_uid == root ? nil : places.keeper
        let empty = { () throws(MoveError) in
            for file in try directory.names() { try erase(file, in: directory) }
        }
        if let account { try account.acting(empty) } else { try empty() }
        try system.removeDirectory(name)
    }

    /// Removes a file; a file that holds a key is overwritten first, so that no usable key stays on the disk.
    ///
    /// Best effort: a disk that writes elsewhere (copy on write, flash) keeps the old bytes.
    func erase(_ name: String, in directory: OpenDirectory) throws(MoveError) {
        let holdsKey = [StoreFile.keybag, .deviceKey].contains { name.hasPrefix($0.rawValue) }
        let flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let file = holdsKey ? unsafe openat(directory.descriptor, name, flags) : -1
        defer { if file >= 0 { close(file) } }
        try directory.remove(name)
        var status = stat()
        guard file >= 0, unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            // A file with a link elsewhere may be used by others: do not overwrite it.
            status.st_nlink == 0, status.st_size <= 1 << 20
        else { return }
        let zeros = [UInt8](repeating: 0, count: Int(status.st_size))
        if unsafe pwrite(file, zeros, zeros.count, 0) == zeros.count { fdatasync(file) }
    }

    func removeArriving(from own: OpenDirectory) throws(MoveError) {
        guard let arriving = try own.directory(MovePlaces.arrivingName, owner: places.user.uid) else {
            return
        }
        for name in try arriving.names() { try erase(name, in: arriving) }
        try own.removeDirectory(MovePlaces.arrivingName)
    }

    /// Removes the socket's directory if it was inside the keychain's directory; a daemon that starts now creates it
    /// again.
    func removeSocketDirectory(from own: OpenDirectory) {
        guard let run = try? own.directory("run", owner: places.user.uid) else { return }
        for name in ["socket", "lock"] { try? run.remove(name) }
        try? own.removeDirectory("run")
    }
}
