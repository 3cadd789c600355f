internal import Glibc
internal import KeychainModel

/// Gives the items of a new keychain their name, once its keybag has its own.
///
/// Until then they have the name of new items, so that creating a keychain touches no file that may belong to another
/// one. A mark says that they are complete: an interrupted set-up is continued at the next start if the keybag exists,
/// and leaves nothing otherwise.
struct NewItems {
    private let directory: StoreDirectory
    private let mark: AtomicFile

    init(in directory: StoreDirectory) {
        self.directory = directory
        mark = AtomicFile(.setUpMark, in: directory, longest: 0)
    }

    /// Marks ``StoreFile/newItems`` as complete; they are flushed and have no log.
    func setMark() throws(KeychainError) { try mark.replace(with: []) }

    /// Ends a set-up: with a keybag, its items get their name; without one, they are removed.
    func settle() throws(KeychainError) {
        guard try directory.has(StoreFile.setUpMark.rawValue) else { return }
        if try directory.has(StoreFile.newItems.rawValue) {
            if try KeybagFile.exists(in: directory) {
                // A file that came meanwhile stays, under another name.
                _ = try ItemReplacement(in: directory).moveItemsAside()
                try directory.rename(.newItems, toFree: StoreFile.items.rawValue)
                // The mark of the log that the items were made with, which promises nothing.
                _ = unsafe unlinkat(directory.descriptor, StoreFile.newItems.rawValue + "-mark", 0)
            } else {
                try directory.removeItems(.newItems)
            }
            try directory.sync()
        }
        // A mark that stayed would make a later interrupted replacement look complete.
        try directory.remove(.setUpMark)
        try directory.sync()
    }
}
