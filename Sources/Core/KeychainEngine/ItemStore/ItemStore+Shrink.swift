internal import Glibc
internal import KeychainModel

/// Returns free space to the disk: writes the items to a new file, which replaces the old one.
///
/// SQLite's `VACUUM` writes all pages to memory, to the log and to the file; an incremental vacuum needs a different
/// layout, which costs each change some pages.
extension ItemStore {
    /// The least free pages worth returning; fewer are kept for later changes.
    private static let leastFreePages = 1024

    /// Whether enough of the file is free to justify rewriting it.
    var isShrinkDue: Bool {
        guard !needsReopening, itemSet.digest != nil, let (free, all) = try? database.pageCounts() else {
            return false
        }
        return free >= Self.leastFreePages && free * 4 >= all
    }

    /// The bytes of the file that are in use; nil if unknown.
    var usedByteCount: Int? {
        (try? database.pageCounts()).map { ($0.all - $0.free) * ItemSchema.pageByteCount }
    }

    /// Writes the items to a new file and continues with that.
    ///
    /// - Throws: ``KeychainError`` with the cause ``DriverCause/interrupted`` if `isAwaited` returns true before the end,
    ///   because a request is waiting: then nothing was changed.
    func shrink(_ context: ItemContext, isAwaited: @escaping @Sendable () -> Bool) throws(KeychainError) {
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
        // From here on the state in memory is invalid until it is read again.
        needsReopening = true
        database.shut()
        // The log must be durably gone before another file takes the place of the one it belongs to.
        guard logByteCount() == 0 else { throw KeychainError(.io) }
        _ = unsafe unlinkat(directory.descriptor, StoreFile.itemsLog.rawValue, 0)
        try directory.sync()
        try directory.rename(.newItems, to: StoreFile.items.rawValue)
        try directory.sync()
        try reopenIfNeeded(context)
    }
}

extension ItemDatabase {
    /// The number of free pages and of all pages.
    func pageCounts() throws(KeychainError) -> (free: Int, all: Int) {
        try Self.translatingErrors {
            (try number("PRAGMA freelist_count"), try number("PRAGMA page_count"))
        }
    }
}

extension DriverCause {
    /// A waiting request interrupted the operation.
    static let interrupted = DriverCause(domain: "store", code: "interrupted")
}
