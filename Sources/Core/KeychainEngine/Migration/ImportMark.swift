internal import Glibc
internal import KeychainModel

/// Marks the items as those of an unfinished import.
///
/// With the mark and without a keybag, they are not a keychain that lost its keybag, and are removed at the next start.
struct ImportMark {
    private let directory: StoreDirectory
    private let file: AtomicFile

    init(in directory: StoreDirectory) {
        self.directory = directory
        file = AtomicFile(.importMark, in: directory, longest: 0)
    }

    /// Sets the mark, durably, before the first item is stored.
    func set() throws(KeychainError) { try file.replace(with: []) }

    /// Ends an import: with a keybag it is complete; without one its items are removed, and then the mark.
    func settle() throws(KeychainError) {
        guard try directory.has(StoreFile.importMark.rawValue) else { return }
        if try !KeybagFile.exists(in: directory) {
            for name in [StoreFile.itemsLog, .itemsSharedMemory, .itemsJournal, .items] { try remove(name) }
            try sync()
        }
        try remove(.importMark)
        try sync()
    }

    private func remove(_ name: StoreFile) throws(KeychainError) {
        let removed = unsafe unlinkat(directory.descriptor, name.rawValue, 0)
        guard removed == 0 || errno == ENOENT else { throw FileError.keychainError(errno) }
    }

    private func sync() throws(KeychainError) {
        guard fsync(directory.descriptor) == 0 else { throw FileError.keychainError(errno) }
    }
}
