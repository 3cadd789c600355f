internal import Glibc
internal import KeychainModel

/// Puts a repaired file of items in the place of the present one, whose files stay under other names.
///
/// A mark says that the new file is whole: whoever finds it goes on where the machine stopped.
struct ItemReplacement {
    private let directory: StoreDirectory
    private let mark: AtomicFile

    init(in directory: StoreDirectory) {
        self.directory = directory
        mark = AtomicFile(.repairMark, in: directory, longest: 0)
    }

    /// Replaces the items by ``StoreFile/newItems``, which is whole and flushed, and has no log.
    ///
    /// - Returns: the name of the former file.
    func run() throws(KeychainError) -> String {
        let aside = try freeName()
        try mark.replace(with: [])
        try settle()
        return aside
    }

    /// Ends a replacement that was begun; what was made for one that was not is removed.
    func settle() throws(KeychainError) {
        if try directory.has(StoreFile.repairMark.rawValue) {
            if try directory.has(StoreFile.newItems.rawValue) {
                let aside = try freeName()
                // The log first: it belongs to the file that is still there.
                try moveAside(.itemsLog, as: aside + "-wal")
                try moveAside(.items, as: aside)
                try directory.sync()
                try directory.rename(.newItems, to: StoreFile.items.rawValue)
                try directory.sync()
            }
            _ = unsafe unlinkat(directory.descriptor, StoreFile.repairMark.rawValue, 0)
            try directory.sync()
        }
        // A mark that was not put in its place yet.
        _ = unsafe unlinkat(directory.descriptor, mark.temporaryName, 0)
        for name in [StoreFile.newItems, .savedItems] {
            let hasFile = try directory.has(name.rawValue)
            let hasLog = try directory.has(name.rawValue + "-wal")
            if hasFile || hasLog { try directory.removeItems(name) }
        }
    }

    private func moveAside(_ file: StoreFile, as name: String) throws(KeychainError) {
        guard try directory.has(file.rawValue) else { return }
        try directory.rename(file, to: name)
    }

    /// The first name that neither a file nor its log has; of a replacement that was cut short, the one it had.
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

    /// What files that were replaced are called.
    static let asidePrefix = "items.sqlite.damaged-"
}
