/// A wall-clock time, in milliseconds since 1970-01-01 UTC.
///
/// Stores have no clock: the caller passes the current time.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// Creates a time from milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// Creates a time from seconds since 1970.
    public init(seconds: Int64) { milliseconds = seconds * 1000 }

    /// Whole seconds since 1970.
    public var seconds: Int64 { milliseconds / 1000 }

    /// The end of the day of this time, in UTC.
    public var endOfDay: Timestamp { Timestamp(seconds: (seconds / 86_400 + 1) * 86_400) }

    /// Whether `left` is earlier than `right`.
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// The time after a duration.
    public static func + (time: Self, duration: Duration) -> Self {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    /// The time before a duration.
    public static func - (time: Self, duration: Duration) -> Self {
        Timestamp(milliseconds: time.milliseconds - duration.milliseconds)
    }

    /// The duration from `right` to `left`.
    public static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// The duration in whole milliseconds.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
