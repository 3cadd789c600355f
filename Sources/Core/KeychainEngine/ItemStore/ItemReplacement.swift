internal import Glibc
internal import KeychainModel

/// Replaces the items file with a repaired one; the former files are kept under other names.
///
/// A mark says that the new file is complete: an interrupted replacement is then continued at the next start.
struct ItemReplacement {
    private let directory: StoreDirectory
    private let mark: AtomicFile

    init(in directory: StoreDirectory) {
        self.directory = directory
        mark = AtomicFile(.repairMark, in: directory, longest: 0)
    }

    /// Replaces the items with ``StoreFile/newItems``, which is complete, flushed, and has no log.
    ///
    /// - Returns: the new name of the former file.
    func run() throws(KeychainError) -> String {
        let aside = try freeName()
        try mark.replace(with: [])
        try settle()
        return aside
    }

    /// Completes an interrupted replacement; removes the files of one that had no mark yet.
    func settle() throws(KeychainError) {
        if try directory.has(StoreFile.repairMark.rawValue) {
            if try directory.has(StoreFile.newItems.rawValue) {
                _ = try moveItemsAside()
                try directory.rename(.newItems, to: StoreFile.items.rawValue)
                try directory.sync()
            }
            // A mark that stayed would make a later interrupted replacement look complete.
            try directory.remove(.repairMark)
            try directory.sync()
        }
        for name in [StoreFile.newItems, .savedItems] {
            let hasFile = try directory.has(name.rawValue)
            let hasLog = try directory.has(name.rawValue + "-wal")
            let hasMark = try directory.has(name.rawValue + "-mark")
            if hasFile || hasLog || hasMark { try directory.removeItems(name) }
        }
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
