/// A time of the clock on the wall, in milliseconds since 1970-01-01 UTC.
///
/// Stores have no clock: whoever calls says what time it is.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970.
    public let milliseconds: Int64

    /// A time in milliseconds since 1970.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// A time in seconds since 1970.
    public init(seconds: Int64) { milliseconds = seconds * 1000 }

    /// Whole seconds since 1970.
    public var seconds: Int64 { milliseconds / 1000 }

    /// The end of this time's day, in UTC.
    public var endOfDay: Timestamp { Timestamp(seconds: (seconds / 86_400 + 1) * 86_400) }

    /// The earlier one is less.
    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }

    /// So much later.
    public static func + (time: Self, duration: Duration) -> Self {
        Timestamp(milliseconds: time.milliseconds + duration.milliseconds)
    }

    /// So much earlier.
    public static func - (time: Self, duration: Duration) -> Self {
        Timestamp(milliseconds: time.milliseconds - duration.milliseconds)
    }

    /// How much later the left one is.
    public static func - (left: Self, right: Self) -> Duration {
        .milliseconds(left.milliseconds - right.milliseconds)
    }
}

extension Duration {
    /// In whole milliseconds.
    package var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
