internal import Glibc
internal import KeychainModel

/// Gives the disk back what deletions left free: the items are written to a new file, which takes the old one's place.
///
/// A vacuum in SQLite's own way writes all of them to memory, to the log and to the file; one that goes on in parts needs
/// another layout, which costs each change some pages.
extension ItemStore {
    /// Less than this stays for what comes.
    private static let leastFreePages = 1024

    /// Whether enough of the file is free to write the rest of it anew.
    var isShrinkDue: Bool {
        guard !needsReopening, itemSet.digest != nil, let (free, all) = try? database.pageCounts() else {
            return false
        }
        return free >= Self.leastFreePages && free * 4 >= all
    }

    /// The bytes of the file that are in use.
    var usedByteCount: Int? {
        (try? database.pageCounts()).map { ($0.all - $0.free) * ItemSchema.pageByteCount }
    }

    /// Writes the items to a new file and goes on with that.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` when `isAwaited` says, before the end, that
    ///   somebody else is: then nothing was changed.
    func shrink(_ context: ItemContext, isAwaited: () -> Bool) throws(KeychainError) {
        try emptyLog()
        guard let used = usedByteCount, try room() > used + Self.reserve else { return }
        try directory.makeEmpty(.newItems)
        do throws(KeychainError) {
            try database.write(copyTo: directory.path + "/" + StoreFile.newItems.rawValue, unless: isAwaited)
            try directory.sync(.newItems)
        } catch {
            try? directory.removeItems(.newItems)
            throw error
        }
        // From here on nothing in memory is believed until it was read anew.
        needsReopening = true
        database.shut()
        // The log is gone, durably, before there is a file that it does not belong to.
        guard logByteCount() == 0 else { throw KeychainError(.io) }
        _ = unsafe unlinkat(directory.descriptor, StoreFile.itemsLog.rawValue, 0)
        try directory.sync()
        try directory.rename(.newItems, to: StoreFile.items.rawValue)
        try directory.sync()
        try reopenIfNeeded(context)
    }
}

extension ItemDatabase {
    /// How many pages there are, and how many of them hold nothing.
    func pageCounts() throws(KeychainError) -> (free: Int, all: Int) {
        try Self.translatingErrors {
            (try number("PRAGMA freelist_count"), try number("PRAGMA page_count"))
        }
    }
}

extension DriverCause {
    /// Somebody else came first.
    static let interrupted = DriverCause(domain: "store", code: "interrupted")
}
