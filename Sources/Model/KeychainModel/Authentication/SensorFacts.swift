/// The known facts about a sensor besides its name; none is assumed.
public struct SensorFacts: Hashable, Sendable {
    /// How trustworthy a match on the sensor is.
    public enum Grade: UInt8, Sendable {
        /// Not in the administrator's table.
        case ungraded = 0
        /// The administrator's table says weak.
        case weak = 1
        /// The administrator's table says strong.
        case strong = 2
    }

    /// How trustworthy a match on the sensor is.
    public var grade: Grade
    /// Whether the administrator's table says that the sensor compares fingers itself.
    public var matchesOnChip: Bool
    /// fprintd's property `scan-type`, `press` or `swipe`; nil if it is not reported.
    public var scanType: String?

    /// Describes a sensor.
    public init(grade: Grade = .ungraded, matchesOnChip: Bool = false, scanType: String? = nil) {
        self.grade = grade
        self.matchesOnChip = matchesOnChip
        self.scanType = scanType
    }
}
