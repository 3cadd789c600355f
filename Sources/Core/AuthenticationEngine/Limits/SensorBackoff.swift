import KeychainModel

/// Keeps tries at a sensor that fails apart: 1 s, doubling to 60 s.
///
/// A lock screen in the field opened a failing sensor every 400 ms for two days.
struct SensorBackoff: Sendable {
    static let shortest = Duration.seconds(1)
    static let longest = Duration.seconds(60)

    private var pause = Duration.zero
    private var last: BootTime?

    /// The sensor, its driver or the bus failed.
    mutating func failed(at now: BootTime) {
        pause = Self.next(after: pause)
        last = now
    }

    /// The sensor gave a verdict.
    mutating func worked() {
        pause = .zero
        last = nil
    }

    /// How long the sensor has to be left alone.
    func remaining(at now: BootTime) -> Duration {
        guard let last, let passed = now.since(last), passed >= .zero else { return .zero }
        return max(.zero, pause - passed)
    }

    /// The pause after one of `pause`.
    static func next(after pause: Duration) -> Duration {
        pause == .zero ? shortest : min(pause * 2, longest)
    }
}
