/// How long an authentication counts in a context: bits 40 to 62 of the context's number, in milliseconds; 0 for as long as
/// the context exists.
///
/// The number is chosen before the user authenticates, and the daemon keeps the time: whatever takes over the app's process
/// later gets nothing from the context after its time, and a number with more time is a context without authentications.
public enum ContextLifetime {
    /// The longest time, 2 h 19 min.
    public static let longest = Duration.milliseconds((1 << 23) - 1)

    private static let shift: UInt64 = 40

    /// The number of a context.
    ///
    /// - Parameters:
    ///   - counter: differs from that of each other context of the process; its low 40 bits count.
    ///   - time: how long an authentication counts, rounded up to milliseconds, at most ``longest``; zero for no limit.
    /// - Returns: the number, below 2^63.
    public static func number(_ counter: UInt64, lasting time: Duration) -> UInt64 {
        let counter = self.counter(of: counter)
        guard time > .zero else { return counter }
        let (seconds, attoseconds) = min(time, longest).components
        let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return UInt64(milliseconds) << shift | counter
    }

    /// How long an authentication counts in the context of this number; nil for no limit.
    public static func of(_ number: UInt64) -> Duration? {
        let milliseconds = (number << 1) >> (shift + 1)
        return milliseconds == 0 ? nil : .milliseconds(milliseconds)
    }

    /// The counter in a number, by which the contexts of a process are ordered.
    public static func counter(of number: UInt64) -> UInt64 { number & (1 << shift - 1) }
}
