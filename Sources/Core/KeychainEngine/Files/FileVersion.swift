internal import Glibc

/// One state of one file: another file, another owner or mode, or another write is another version.
///
/// The kernel alone sets the time of the last change (inode(7), ctime); whoever puts an older copy in place sets it too.
struct FileVersion: Equatable {
    /// Changes that follow each other faster may carry the same time: some file systems keep the time of the last tick.
    private static let granularity: Int64 = 50_000_000

    private let place: [UInt64]
    private let size: Int
    private let changed: Int64
    private let seen: Int64

    /// The version of an open file; nil when it cannot be told.
    init?(of file: CInt) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The version of the file of that name; nil when there is none.
    init?(of name: String, in directory: StoreDirectory) {
        var status = stat()
        let result = unsafe fstatat(directory.descriptor, name, &status, AT_SYMLINK_NOFOLLOW)
        guard result == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        place = [
            UInt64(status.st_dev), UInt64(status.st_ino), UInt64(status.st_mode), UInt64(status.st_uid),
            UInt64(status.st_nlink),
        ]
        size = Int(status.st_size)
        changed = Self.nanoseconds(status.st_ctim)
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        seen = Self.nanoseconds(now)
    }

    /// Whether the next change, however soon after, is another version.
    var isSettled: Bool { seen - changed > Self.granularity }

    /// Compares what the file system tells, not when it was asked.
    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.place == rhs.place && lhs.size == rhs.size && lhs.changed == rhs.changed
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
