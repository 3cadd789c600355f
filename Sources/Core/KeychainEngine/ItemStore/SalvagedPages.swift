internal import Glibc
internal import KeychainModel

/// The bytes of damaged items at one moment: their log, and their file as long as nobody writes to it.
final class DamagedFiles {
    let log: ItemLog
    /// nil if there is no file.
    let file: CInt?
    /// The length of the file in bytes.
    let byteCount: Int

    init(in directory: StoreDirectory) throws(KeychainError) {
        log = try ItemLog(in: directory)
        byteCount = try directory.size(of: .items) ?? 0
        file = try directory.openFile(StoreFile.items.rawValue, O_RDONLY)
    }

    deinit {
        file.map { _ = close($0) }
    }
}

/// All pages of damaged items, in the file and in its log, in all versions that are left.
final class SalvagedPages {
    /// One version of a page.
    struct Image {
        fileprivate enum Place {
            case file(Int)
            case frame(Int)
        }

        fileprivate let place: Place
        /// The number of the page; 0 if it cannot be told.
        let number: UInt32
        /// Whether it is part of a commit, as far as can be told, and not left from a former run of the log.
        let isCommitted: Bool
        /// Whether it is as it was written, as far as can be told without its content.
        let isWhole: Bool
        /// Whether it is surely of the last commit.
        let isOfLastCommit: Bool
        /// Whether no later committed version is known.
        fileprivate(set) var isNewest = false
    }

    /// Which version of a page to prefer.
    enum Preference: CaseIterable {
        /// The newest, as it is.
        case newest
        /// The newest that is whole.
        case whole
    }

    /// All versions, the newest first.
    let images: [Image]
    /// Whether flushed records of the log are damaged or missing.
    let isLogDamaged: Bool
    /// The numbers of pages whose newest version is damaged.
    let damagedPages: Set<UInt32>
    private let files: DamagedFiles
    private let newest: [UInt32: Int]
    private let newestWhole: [UInt32: Int]

    init(of files: DamagedFiles) {
        self.files = files
        let log = files.log
        isLogDamaged = log.judged(beside: files.file ?? -1).verdict == .damaged
        var images: [Image] = []
        for (slot, frame) in log.frames(isWhole: !isLogDamaged).enumerated().reversed() {
            images.append(
                Image(
                    place: .frame(slot),
                    number: frame.number,
                    isCommitted: frame.isCommitted,
                    isWhole: frame.isWhole,
                    isOfLastCommit: frame.isOfLastCommit
                )
            )
        }
        let pageCount = (files.byteCount + ItemSchema.pageByteCount - 1) / ItemSchema.pageByteCount
        for number in 0..<min(pageCount, Int(UInt32.max) - 1) {
            images.append(
                Image(
                    place: .file(number),
                    number: UInt32(number + 1),
                    isCommitted: true,
                    isWhole: true,
                    isOfLastCommit: !isLogDamaged
                )
            )
        }
        var newest: [UInt32: Int] = [:]
        var newestWhole: [UInt32: Int] = [:]
        var damagedPages: Set<UInt32> = []
        for (index, image) in images.enumerated() where image.isCommitted && image.number != 0 {
            if newest[image.number] == nil {
                newest[image.number] = index
                images[index].isNewest = true
                if !image.isWhole { damagedPages.insert(image.number) }
            }
            if image.isWhole, newestWhole[image.number] == nil { newestWhole[image.number] = index }
        }
        (self.images, self.newest, self.newestWhole, self.damagedPages) =
            (images, newest, newestWhole, damagedPages)
    }

    /// The bytes of a page; zeros where they cannot be read.
    func octets(_ image: Image) throws(KeychainError) -> [UInt8] {
        switch image.place {
        case .frame(let slot): return Array(files.log.page(slot))
        case .file(let index):
            var page = [UInt8](repeating: 0, count: ItemSchema.pageByteCount)
            let count = unsafe pread(files.file ?? -1, &page, page.count, off_t(index) * off_t(page.count))
            guard count >= 0 || errno == EIO else { throw FileError.keychainError(errno) }
            return page
        }
    }

    /// The record of a row, with the rest of it on other pages; nil if some of them are missing.
    func record(
        _ cell: TableLeaf.Cell,
        on page: [UInt8],
        _ preference: Preference
    ) throws(KeychainError) -> [UInt8]? {
        var record = Array(page[cell.local])
        var next = cell.overflow
        let index = preference == .newest ? newest : newestWhole
        guard cell.payloadByteCount <= images.count * ItemSchema.pageByteCount else { return nil }
        while record.count < cell.payloadByteCount {
            guard let place = index[next] else { return nil }
            let page = try octets(images[place])
            next = TableLeaf.number(page, 0)
            record += page[4...].prefix(cell.payloadByteCount - record.count)
        }
        return record
    }
}
