internal import CLinux
internal import Glibc
internal import KeychainModel

/// Keeps disk space for operations that must work on a full disk.
///
/// A change is in the log first and in the file later, so a disk filled by the log would have no space to write it back,
/// and none to delete items.
extension ItemStore {
    /// Bytes that a few deletions write to the log before it is emptied.
    static let reserve = 64 * 1024
    /// The most bytes by which the log is extended at once: the next flush includes them.
    private static let mostRoomInLog = 256 * 1024
    /// Bytes that a change writes besides the item itself: pages of seven indexes, and the set.
    private static let pagesBeside = 16 * 1024

    /// Empties the log while there is space for it, and refuses additions that would leave too little space.
    ///
    /// Other programs may fill the disk at any time: then SQLite's own error counts.
    /// - Returns: the changes for which there is space; the others have failed with `errSecDiskFull`.
    func admit(_ writes: [PendingWrite]) throws(KeychainError) -> [PendingWrite] {
        let growth = writes.reduce(0) { $0 + $1.growth }
        // Each byte is written once to the log and once to the file.
        guard try room() < logLength + 2 * growth + Self.reserve else { return writes }
        // If this fails, the records stay in the log.
        try? emptyLog()
        guard growth > 0 else { return writes }
        let growthOfFile = max(0, growth - (try freeByteCount()))
        guard try room() < growth + growthOfFile + Self.reserve else { return writes }
        for write in writes where write.growth > 0 {
            write.result = .failure(FileError.keychainError(ENOSPC))
        }
        return writes.filter { $0.growth == 0 }
    }

    /// Extends the log with zeros if the last change made it longer: to at most twice its length, and within its usual
    /// maximum.
    ///
    /// A flush of bytes within the file's length takes half the time of one that extends it. SQLite takes a record of
    /// zeros for the end of the log. Best effort: a shorter log works as well.
    func lengthenLog() {
        let former = logLength
        guard database.usedLogByteCount > former else { return }
        let length = logByteCount()
        logLength = length
        let count = min(length, Self.mostRoomInLog, ItemDatabase.longestLog - length)
        guard length != former, count > 0 else { return }
        let flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC
        let log = unsafe openat(directory.descriptor, StoreFile.itemsLog.rawValue, flags)
        guard log >= 0 else { return }
        defer { Glibc.close(log) }
        // Page by page: the kernel keeps bytes written together as one unit, and accounts for all of it at each change.
        let zeros = [UInt8](repeating: 0, count: 4096)
        var place = length
        while place < length + count {
            let written = unsafe pwrite(log, zeros, zeros.count - place % zeros.count, off_t(place))
            guard written > 0 else { return }
            place += written
            logLength = place
        }
    }

    /// The bytes that deletions left free in the file.
    private func freeByteCount() throws(KeychainError) -> Int {
        try database.pageCounts().free * ItemSchema.pageByteCount
    }

    func room() throws(KeychainError) -> Int {
        var status = statvfs()
        guard unsafe fstatvfs(directory.descriptor, &status) == 0 else {
            throw FileError.keychainError(errno)
        }
        // File systems that report no blocks have no known limit.
        guard status.f_blocks > 0 else { return .max }
        let (octets, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize)
        )
        return isTooMany ? .max : Int(clamping: octets)
    }

    /// Checkpoints the log into the file.
    func emptyLog() throws(KeychainError) {
        // Into another file's place, records would leave the log and be nowhere.
        try database.checkPlace()
        defer { logLength = logByteCount() }
        try database.checkpoint()
    }

    /// The length of the log in bytes, records and zeros alike.
    func logByteCount() -> Int {
        max(0, Int(unsafe clinux_length(directory.descriptor, StoreFile.itemsLog.rawValue)))
    }

    /// The most bytes that a change may add to the file.
    fileprivate static func growth(of octets: Int) -> Int { octets + octets / 8 + pagesBeside }
}

extension PendingWrite {
    fileprivate var growth: Int {
        switch operation {
        case .add(let item, _):
            ItemStore.growth(of: item.attributes.count + (item.keys?.count ?? 0) + (item.data?.count ?? 0))
        case .update(let update): ItemStore.growth(of: update.changes.value.data.octetCount)
        // The digests of the mark and the attributes take less than what `growth` adds.
        case .replace(let swap): ItemStore.growth(of: swap.new.value.item.data.octetCount)
        case .merge(let merge): ItemStore.growth(of: merge.mostOctetsNext)
        // The first use adds a row without data.
        case .countUse: ItemStore.growth(of: 0)
        case .delete, .erase: 0
        }
    }
}
