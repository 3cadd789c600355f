import KeychainModel

/// Spaces attempts at a failing sensor: 1 s apart, doubling up to 60 s.
///
/// A lock screen in the field opened a failing sensor every 400 ms for two days.
struct SensorBackoff: Sendable {
    static let shortest = Duration.seconds(1)
    static let longest = Duration.seconds(60)

    private var pause = Duration.zero
    private var last: BootTime?

    /// Records a failure of the sensor, its driver or the bus.
    mutating func failed(at now: BootTime) {
        pause = Self.next(after: pause)
        last = now
    }

    /// Records that the sensor gave a verdict.
    mutating func worked() {
        pause = .zero
        last = nil
    }

    /// How long the sensor must be left alone.
    func remaining(at now: BootTime) -> Duration {
        guard let last, let passed = now.since(last), passed >= .zero else { return .zero }
        return max(.zero, pause - passed)
    }

    /// The pause that follows a pause of `pause`.
    static func next(after pause: Duration) -> Duration {
        pause == .zero ? shortest : min(pause * 2, longest)
    }
}
