import Glibc

/// A point in time on `CLOCK_MONOTONIC`, for deadlines of connections; it stands still while the machine sleeps.
package struct MonotonicTime: Comparable {
    private let nanoseconds: Int64

    /// The present.
    package static func now() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The time after so long.
    package static func after(_ duration: Duration) -> MonotonicTime {
        let (seconds, attoseconds) = duration.components
        return MonotonicTime(
            nanoseconds: now().nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }

    package static func < (lhs: Self, rhs: Self) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

    /// The milliseconds left, rounded up, for poll(2); 0 if it is past.
    package var pollTimeout: CInt {
        let left = nanoseconds - Self.now().nanoseconds
        return left <= 0 ? 0 : CInt(min((left + 999_999) / 1_000_000, Int64(CInt.max)))
    }

    /// The time elapsed since then.
    package var age: Duration { .nanoseconds(Self.now().nanoseconds - nanoseconds) }
}
