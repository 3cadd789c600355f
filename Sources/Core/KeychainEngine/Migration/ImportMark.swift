internal import Glibc
internal import KeychainModel

/// The mark of an unfinished import by an earlier version, which gave the items their name before there was a keybag.
struct ImportMark {
    private let directory: StoreDirectory

    init(in directory: StoreDirectory) { self.directory = directory }

    /// Ends an import: with a keybag it is complete; without one its items get another name, and then the mark goes.
    ///
    /// They are not removed: the mark may have outlived its import, and the keybag may have been lost since.
    func settle() throws(KeychainError) {
        guard try directory.has(StoreFile.importMark.rawValue) else { return }
        if try !KeybagFile.exists(in: directory), try ItemStore.mayHaveItems(in: directory) {
            _ = try NewItems(in: directory).moveItemsAside()
        }
        try directory.remove(.importMark)
        try directory.sync()
    }
}
