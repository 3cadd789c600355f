internal import Glibc

/// One state of a file: a different inode, owner, mode, size or change time is a different version.
///
/// Only the kernel sets the change time (inode(7), ctime); restoring an older copy of the file sets it, too.
struct FileVersion: Equatable {
    /// Changes within this time, in nanoseconds, may have the same change time: some file systems use the time of the
    /// last tick.
    private static let granularity: Int64 = 50_000_000

    private let place: [UInt64]
    private let size: Int
    private let changed: Int64
    private let seen: Int64

    /// The version of an open file; nil if fstat(2) fails.
    init?(of file: CInt) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The version of the file with this name; nil if there is none.
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

    /// Whether any later change, however soon, will be a different version.
    var isSettled: Bool { seen - changed > Self.granularity }

    /// Compares the file's state, not the time at which it was read.
    static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.place == rhs.place && lhs.size == rhs.size && lhs.changed == rhs.changed
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
