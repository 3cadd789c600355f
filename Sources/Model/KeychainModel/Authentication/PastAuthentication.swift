/// The last time that the user showed one kind of factor at a program's prompt.
public struct PastAuthentication: Sendable, Hashable {
    /// The factor.
    public let factor: AuthenticationFactor
    /// Whether the finger was on a weak sensor (``SensorFacts/isWeak``).
    public let isOfWeakSensor: Bool
    /// The time since then, by the daemon's clock, which nobody can set and which goes on while the machine sleeps.
    public let age: Duration
    /// The program that the prompt named.
    public let group: AccessGroup

    /// Describes a past authentication.
    public init(factor: AuthenticationFactor, isOfWeakSensor: Bool, age: Duration, group: AccessGroup) {
        self.factor = factor
        self.isOfWeakSensor = isOfWeakSensor
        self.age = age
        self.group = group
    }
}

extension PastAuthentication {
    /// The ``age`` in whole milliseconds, rounded down.
    var wholeMilliseconds: UInt64 {
        let (seconds, attoseconds) = age.components
        return UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
    }
}
