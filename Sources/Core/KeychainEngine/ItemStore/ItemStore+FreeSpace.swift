internal import CLinux
internal import Glibc
internal import KeychainModel

/// Keeps room for what has to work on a full disk: a change lies in the log first and in the file later, so
/// that a disk full of log would leave no room to bring it into the file, and none to delete anything.
extension ItemStore {
    /// What a few deletions write to the log before it is emptied.
    static let reserve = 64 * 1024
    /// By how much the log is made longer at once: the next flush takes it along.
    private static let mostRoomInLog = 256 * 1024
    /// What an item changes beside its own bytes: pages of seven indexes, and the set.
    private static let pagesBeside = 16 * 1024

    /// Empties the log while there is room for it, and refuses to add where there would be none afterwards.
    ///
    /// Others may fill the disk at any time: then SQLite's own refusal counts.
    /// - Returns: the changes that there is room for; the others have failed with `errSecDiskFull`.
    func admit(_ writes: [PendingWrite]) throws(KeychainError) -> [PendingWrite] {
        let growth = writes.reduce(0) { $0 + $1.growth }
        // Each byte once in the log and once in the file.
        guard try room() < logLength + 2 * growth + Self.reserve else { return writes }
        // What the log holds stays in it when this fails.
        try? emptyLog()
        guard growth > 0 else { return writes }
        let growthOfFile = max(0, growth - (try freeByteCount()))
        guard try room() < growth + growthOfFile + Self.reserve else { return writes }
        for write in writes where write.growth > 0 {
            write.result = .failure(FileError.keychainError(ENOSPC))
        }
        return writes.filter { $0.growth == 0 }
    }

    /// Makes the log longer once more, by zeros, when the last change did: up to twice as long, and no longer than
    /// it gets.
    ///
    /// A flush of bytes that a file has room for takes half the time of one that makes it longer. SQLite takes a
    /// record of zeros for the log's end. Best effort: a log that is shorter works as well.
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
        // By single pages: the kernel keeps what is written together as one, and counts all of it at each change.
        let zeros = [UInt8](repeating: 0, count: 4096)
        var place = length
        while place < length + count {
            let written = unsafe pwrite(log, zeros, zeros.count - place % zeros.count, off_t(place))
            guard written > 0 else { return }
            place += written
            logLength = place
        }
    }

    /// What deletions left free in the file.
    private func freeByteCount() throws(KeychainError) -> Int {
        try database.pageCounts().free * ItemSchema.pageByteCount
    }

    func room() throws(KeychainError) -> Int {
        var status = statvfs()
        guard unsafe fstatvfs(directory.descriptor, &status) == 0 else {
            throw FileError.keychainError(errno)
        }
        // File systems that count no blocks have no end that could be told.
        guard status.f_blocks > 0 else { return .max }
        let (octets, isTooMany) = UInt64(status.f_bavail).multipliedReportingOverflow(
            by: UInt64(status.f_frsize)
        )
        return isTooMany ? .max : Int(clamping: octets)
    }

    /// Brings the log into the file.
    func emptyLog() throws(KeychainError) {
        defer { logLength = logByteCount() }
        try database.checkpoint()
    }

    /// How long the log is, be it of records or of zeros.
    func logByteCount() -> Int {
        max(0, Int(unsafe clinux_length(directory.descriptor, StoreFile.itemsLog.rawValue)))
    }

    /// What the change may add to the file.
    fileprivate static func growth(of octets: Int) -> Int { octets + octets / 8 + pagesBeside }
}

extension PendingWrite {
    fileprivate var growth: Int {
        switch operation {
        case .add(let item):
            ItemStore.growth(of: item.attributes.count + (item.keys?.count ?? 0) + (item.data?.count ?? 0))
        case .update(let update): ItemStore.growth(of: update.changes.value.data.octetCount)
        case .delete: 0
        }
    }
}
