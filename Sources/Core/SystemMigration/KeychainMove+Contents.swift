import Glibc
import KeychainModel

/// What of a keychain there is in a directory.
extension KeychainMove {
    /// The files without which there is nothing to open: keybag and items.
    private static let essential = [StoreFile.keybag, .items].map(\.rawValue)

    /// The essential files that have their names in a directory, whatever they are.
    func essentials(in directory: OpenDirectory) throws(MoveError) -> Set<String> {
        Set(try directory.storeNames()).intersection(Self.essential)
    }

    /// The same of a directory of the account's; nothing where there is no such directory.
    func essentials(of name: String, in system: OpenDirectory) throws(MoveError) -> Set<String> {
        guard let directory = try system.directory(name, owner: places.keeper.uid) else { return [] }
        return try places.keeper.acting { () throws(MoveError) in try essentials(in: directory) }
    }

    /// Whether a directory has `files`, each a plain file with one name, its owner's alone, and not empty; called with the
    /// owner's rights.
    ///
    /// That what is in them opens is the check's to say, which the user's unlocking is part of.
    func isWhole(_ directory: OpenDirectory, _ files: Set<String>, owner: Account) -> Bool {
        files.allSatisfy { name in
            var status = stat()
            return unsafe fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
                && status.st_mode & S_IFMT == S_IFREG && status.st_mode & 0o7777 == 0o600
                && status.st_uid == owner.uid && status.st_nlink == 1 && status.st_size > 0
        }
    }

    /// What is left to do once the keychain is where it is to be: nothing where there is none in any of its places.
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

    /// Where a user's keychain was before it moved, which need not be where the user's environment has it now; nil where none
    /// moved, or the caller may not know.
    package static func origin(of user: UInt32, systemDirectory: String) -> String? {
        for ending in ["moving", "from"] {
            let path = "\(systemDirectory)/\(user).\(ending)"
            guard let octets = SmallFile.bytes(path, upTo: 4096),
                let line = octets.split(separator: UInt8(ascii: "\n")).first,
                let text = String(validating: line, as: UTF8.self), text.hasPrefix("/")
            else { continue }
            return text
        }
        return nil
    }

    /// Notes where the keychain is taken from, and that what stays there is the former one; root's, and the user may read it.
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

    /// Notes that the former keychain was removed: what comes to lie there from now on is another one.
    func noteMoved(in system: OpenDirectory) throws(MoveError) {
        guard try system.has(places.movingName) else { return }
        try system.remove(places.originName)
        try system.rename(places.movingName, places.originName)
        try system.sync()
    }

    /// Forgets both.
    func forgetOrigin(in system: OpenDirectory) throws(MoveError) {
        for name in [places.movingName + ".new", places.movingName, places.originName] {
            try system.remove(name)
        }
        try system.sync()
    }
}
