internal import CLinux
internal import Glibc
internal import KeychainModel

/// Puts all files of a keychain aside, into a directory of their own, so that another one can be created.
///
/// The keybag goes first: without it an interrupted move is continued at the next start. Nothing is removed.
struct FormerFiles {
    /// The start of the directories' names, before a number.
    static let prefix = "former-"
    /// The directory's name until all files are in it.
    static let unfinished = "former.new"

    private let directory: StoreDirectory

    init(in directory: StoreDirectory) { self.directory = directory }

    /// Moves all files.
    ///
    /// - Returns: the name of the directory that has them; nil if there were none.
    func move() throws(KeychainError) -> String? {
        try directory.checkPlace()
        let names = try names()
        let isBegun = try directory.has(Self.unfinished)
        guard isBegun || !names.isEmpty else { return nil }
        let made = unsafe mkdirat(directory.descriptor, Self.unfinished, 0o700)
        guard made == 0 || errno == EEXIST else { throw FileError.keychainError(errno) }
        try directory.sync()
        return try finish(names)
    }

    /// Removes the names that a move took from files which have their new name already.
    ///
    /// Where a rename cannot be exclusive it is a link first (`clinux_rename_to_free`): an interruption leaves both names.
    func removeSecondNames() throws(KeychainError) {
        guard try directory.has(Self.unfinished) else { return }
        let aside = try openUnfinished()
        defer { close(aside) }
        for name in try names() {
            guard let moved = FileIdentity(name, aside), moved == FileIdentity(of: name, in: directory) else {
                continue
            }
            guard unsafe unlinkat(directory.descriptor, name, 0) == 0 else {
                throw FileError.keychainError(errno)
            }
        }
        try sync(aside)
    }

    private func openUnfinished() throws(KeychainError) -> CInt {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        let aside = unsafe openat(directory.descriptor, Self.unfinished, flags)
        guard aside >= 0 else { throw FileError.keychainError(errno) }
        return aside
    }

    /// Continues an interrupted move.
    func settle() throws(KeychainError) {
        guard try directory.has(Self.unfinished) else { return }
        // With a keybag, at most the other of its two files was moved.
        _ = try finish(try KeybagFile.exists(in: directory) ? [] : names())
    }

    private func finish(_ names: [String]) throws(KeychainError) -> String {
        let aside = try openUnfinished()
        defer { close(aside) }
        for name in names {
            guard unsafe clinux_rename_to_free(directory.descriptor, name, aside, name) == 0 else {
                throw FileError.keychainError(errno)
            }
            // The keybag's move is durable before that of another file.
            if name.hasPrefix(StoreFile.keybag.rawValue) { try sync(aside) }
        }
        try sync(aside)
        var number = 1
        while true {
            let name = "\(Self.prefix)\(number)"
            // A directory's rename replaces none but an empty one (rename(2)).
            if unsafe renameat(directory.descriptor, Self.unfinished, directory.descriptor, name) == 0 {
                try directory.sync()
                return name
            }
            guard [EEXIST, ENOTEMPTY, ENOTDIR].contains(errno) else { throw FileError.keychainError(errno) }
            number += 1
        }
    }

    private func sync(_ aside: CInt) throws(KeychainError) {
        guard fsync(aside) == 0 else { throw FileError.keychainError(errno) }
        try directory.sync()
    }

    /// The names of the keychain's files but its log, the keybag's first.
    private func names() throws(KeychainError) -> [String] {
        let copy = unsafe openat(directory.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { throw FileError.keychainError(errno) }
        guard let listing = unsafe fdopendir(copy) else {
            close(copy)
            throw FileError.keychainError(errno)
        }
        defer { unsafe closedir(listing) }
        var names: [String] = []
        while let entry = unsafe readdir(listing) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { place in
                unsafe place.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if StoreFile.isPart(name), !name.hasPrefix(StoreFile.log) { names.append(name) }
        }
        let isKeybag = { (name: String) in name.hasPrefix(StoreFile.keybag.rawValue) }
        return names.filter(isKeybag).sorted() + names.filter { !isKeybag($0) }.sorted()
    }
}
