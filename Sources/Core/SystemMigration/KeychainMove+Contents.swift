import Glibc
import KeychainModel

/// Checks which keychain files a directory holds.
extension KeychainMove {
    /// The keybag's two files, either of which is enough to open it.
    private static let keybags: Set = [StoreFile.keybag.rawValue, StoreFile.keybagCopy.rawValue]

    /// The files without which a keychain cannot be opened: the keybag's and the items.
    private static let essential = keybags.union([StoreFile.items.rawValue])

    /// Whether files have a keybag among them.
    static func haveKeybag(_ files: Set<String>) -> Bool { !files.isDisjoint(with: keybags) }

    /// Whether a file is one of the keybag's.
    static func isKeybag(_ name: String) -> Bool { keybags.contains(name) }

    /// The essential files whose names exist in a directory, whatever their type.
    func essentials(in directory: OpenDirectory) throws(MoveError) -> Set<String> {
        Set(try directory.storeNames()).intersection(Self.essential)
    }

    /// The same for a directory of the account; empty if the directory does not exist.
    func essentials(of name: String, in system: OpenDirectory) throws(MoveError) -> Set<String> {
        guard let directory = try system.directory(name, owner: places.keeper.uid) else { return [] }
        return try places.keeper.acting { () throws(MoveError) in try essentials(in: directory) }
    }

    /// Whether each of `files` is a non-empty regular file with mode 0600 and one link that `owner` owns, of the keybag's at
    /// least one; called with the owner's credentials.
    ///
    /// Whether their content can be opened is decided later by the check, which includes the user's unlock.
    func isWhole(_ directory: OpenDirectory, _ files: Set<String>, owner: Account) -> Bool {
        func isWhole(_ name: String) -> Bool {
            var status = stat()
            return unsafe fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
                && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o7777 == 0o600
                && status.st_uid == owner.uid && status.st_nlink == 1 && status.st_size > 0
        }
        return files.subtracting(Self.keybags).allSatisfy(isWhole)
            && (!Self.haveKeybag(files) || Self.keybags.contains(where: isWhole))
    }

    /// What is left to do after the move: `.empty` if no place has a keychain, `.needsCheck` otherwise.
    func outcome(in system: OpenDirectory) throws(MoveError) -> Outcome {
        for name in [places.keptName, places.spareName] {
            guard try essentials(of: name, in: system).isEmpty else { return .needsCheck }
        }
        let isEmpty = try asUser { () throws(MoveError) in
            guard let own = try OpenDirectory.open(places.userDirectory, owner: places.user.uid) else {
                return true
            }
            return try essentials(in: own).isEmpty
        }
        return isEmpty ? .empty : .needsCheck
    }

    // MARK: Where it was

    /// The directory of a user's keychain before it moved, which may differ from what the user's environment says now;
    /// nil if none moved or the caller may not read the record.
    package static func origin(of user: UInt32, systemDirectory: String) -> String? {
        for ending in ["moving", "from"] {
            let path = "\(systemDirectory)/\(user).\(ending)"
            guard let octets = try? SmallFile.bytes(path, atMost: 1 << 16),
                let line = octets.split(separator: UInt8(ascii: "\n")).first,
                let text = String(validating: line, as: UTF8.self), text.hasPrefix("/")
            else { continue }
            return text
        }
        return nil
    }

    /// Records where the keychain is taken from; files left there are the former keychain (owner root, readable by the
    /// user).
    func noteOrigin(in system: OpenDirectory) throws(MoveError) {
        let (name, temporary) = (places.movingName, places.movingName + ".new")
        try system.remove(temporary)
        try system.writeFile(temporary, places.userDirectory + "\n", mode: 0o640, group: places.user.gid)
        guard unsafe renameat(system.descriptor, temporary, system.descriptor, name) == 0 else {
            throw .system(system.path + "/" + name)
        }
        try system.remove(places.originName)
        try system.sync()
    }

    /// Records that the former keychain was removed: a keychain found in the user's directory from now on is a different
    /// one.
    func noteMoved(in system: OpenDirectory) throws(MoveError) {
        guard try system.has(places.movingName) else { return }
        try system.remove(places.originName)
        try system.rename(places.movingName, places.originName)
        try system.sync()
    }

    /// Removes both records.
    func forgetOrigin(in system: OpenDirectory) throws(MoveError) {
        for name in [places.movingName + ".new", places.movingName, places.originName] {
            try system.remove(name)
        }
        try system.sync()
    }
}
