/// When to copy the write-ahead log into the database: seldom if that is fast, since a page that changed several times is
/// copied once; and so that no operation waits long for it.
///
/// A connection of its own that copies beside the writer was tried: its writes delay the writer's flushes (p99 of a login
/// 11.5 ms instead of 7.4).
struct CheckpointPace {
    /// The shortest limit in pages, 4 MiB; SQLite's own.
    static let least = 1000
    /// The longest limit in pages, 128 MiB: opening the database after a crash reads the log.
    ///
    /// With half of it, a copy met one login in a hundred: p99 on a tmpfs was 5.5 to 6.5 ms instead of 5.3 to 5.8.
    static let most = 32_000
    /// A shorter copy than this allows a longer log.
    private static let short = Duration.milliseconds(25)
    /// A longer copy than this requires a shorter log.
    private static let long = Duration.milliseconds(100)

    /// The length of the log in pages from which it is copied.
    private(set) var limit = CheckpointPace.least
    /// The length of the log in pages at which the next copy is due.
    private var next = CheckpointPace.least

    /// Whether a log of `pageCount` pages has to be copied now.
    func isDue(_ pageCount: Int) -> Bool { pageCount >= next }

    /// Takes the duration of a copy of a log of `pageCount` pages.
    mutating func copied(_ pageCount: Int, in time: Duration) {
        if time > Self.long {
            limit = max(limit / 2, Self.least)
        } else if time < Self.short {
            limit = min(limit * 2, Self.most)
        }
        // A reader may keep the log from beginning again: it is not copied with each commit then.
        next = pageCount + Self.least
    }

    /// Takes the length of the log in pages after a commit.
    mutating func committed(_ pageCount: Int) {
        if pageCount < limit { next = limit }
    }
}
