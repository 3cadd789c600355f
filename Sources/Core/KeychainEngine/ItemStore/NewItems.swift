internal import Glibc
internal import KeychainModel

/// Gives complete new items (``StoreFile/newItems``) the name of the items; what had it is kept under another name.
///
/// Until then they have a name of their own, so that nothing which may belong to a keychain is touched before they are
/// complete. A mark says that they are: an interrupted step is then continued at the next start, and what has no mark is
/// removed. A repair's items take the place of the former ones at once, those of a set-up once there is a keybag.
struct NewItems {
    private let directory: StoreDirectory

    init(in directory: StoreDirectory) { self.directory = directory }

    /// Marks the items of a set-up as complete; they are flushed and have no log.
    func markForSetUp() throws(KeychainError) { try setMark(.setUpMark) }

    /// Replaces the items with repaired ones, which are complete, flushed, and have no log.
    ///
    /// - Returns: the new name of the former file.
    func replaceItems() throws(KeychainError) -> String {
        let aside = try freeName()
        try setMark(.repairMark)
        try settle()
        return aside
    }

    /// Ends an interrupted set-up or repair: items that are complete get their name, and others are removed.
    func settle() throws(KeychainError) {
        if try directory.has(StoreFile.setUpMark.rawValue) {
            try settle(.setUpMark, keeping: try KeybagFile.exists(in: directory))
        }
        if try directory.has(StoreFile.repairMark.rawValue) { try settle(.repairMark, keeping: true) }
        for name in [StoreFile.newItems, .savedItems] {
            let hasFile = try directory.has(name.rawValue)
            let hasLog = try directory.has(name.rawValue + "-wal")
            // The mark of the log that the items were made with, which promises nothing.
            let hasMark = try directory.has(name.rawValue + "-mark")
            if hasFile || hasLog || hasMark { try directory.removeItems(name) }
        }
    }

    /// Gives the items their name, or removes them, and then the mark.
    private func settle(_ mark: StoreFile, keeping isKept: Bool) throws(KeychainError) {
        if try directory.has(StoreFile.newItems.rawValue) {
            if isKept {
                _ = try moveItemsAside()
                try directory.rename(.newItems, toFree: StoreFile.items.rawValue)
            } else {
                try directory.removeItems(.newItems)
            }
            try directory.sync()
        }
        // A mark that stayed would make later unfinished items look complete.
        try directory.remove(mark)
        try directory.sync()
    }

    private func setMark(_ mark: StoreFile) throws(KeychainError) {
        try AtomicFile(mark, in: directory, longest: 0).replace(with: [])
    }

    /// Gives the new items, which are complete and flushed, the name of replaced ones.
    ///
    /// - Returns: that name.
    func keepAside() throws(KeychainError) -> String {
        let name = try freeName()
        try directory.rename(.newItems, toFree: name)
        try directory.sync()
        return name
    }

    /// Gives the present items another name.
    ///
    /// - Returns: that name.
    func moveItemsAside() throws(KeychainError) -> String {
        let aside = try freeName()
        // Move the log first: it belongs to the file that is still in place. Its mark must not promise the new file a log.
        try moveAside(.itemsMark, as: aside + "-mark")
        try moveAside(.itemsLog, as: aside + "-wal")
        try moveAside(.items, as: aside)
        try directory.sync()
        return aside
    }

    private func moveAside(_ file: StoreFile, as name: String) throws(KeychainError) {
        guard try directory.has(file.rawValue) else { return }
        try directory.rename(file, to: name)
    }

    /// The first name that neither a file nor its log has; for an interrupted replacement, the name it had chosen.
    private func freeName() throws(KeychainError) -> String {
        let isHalfDone = try !directory.has(StoreFile.itemsLog.rawValue)
        var number = 1
        while true {
            let name = "\(Self.asidePrefix)\(number)"
            let hasFile = try directory.has(name)
            let hasLog = try directory.has(name + "-wal")
            if !hasFile, !hasLog || isHalfDone { return name }
            number += 1
        }
    }

    /// The prefix of the names of replaced files.
    static let asidePrefix = "items.sqlite.damaged-"
}
