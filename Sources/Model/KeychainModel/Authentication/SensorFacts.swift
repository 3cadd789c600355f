/// What is known of a sensor beside its name; nothing in it is assumed.
public struct SensorFacts: Hashable, Sendable {
    /// How much a match on it is worth.
    public enum Grade: UInt8, Sendable {
        /// Nobody said.
        case ungraded = 0
        /// The administrator's table says weak.
        case weak = 1
        /// The administrator's table says strong.
        case strong = 2
    }

    /// How much a match on it is worth.
    public var grade: Grade
    /// Whether the administrator's table says that the sensor compares fingers itself.
    public var matchesOnChip: Bool
    /// fprintd's property `scan-type`, `press` or `swipe`; nil where it does not tell.
    public var scanType: String?

    /// States what is known.
    public init(grade: Grade = .ungraded, matchesOnChip: Bool = false, scanType: String? = nil) {
        self.grade = grade
        self.matchesOnChip = matchesOnChip
        self.scanType = scanType
    }
}
