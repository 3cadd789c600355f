/// The known facts about a sensor besides its name; none is assumed.
public struct SensorFacts: Hashable, Sendable {
    /// How trustworthy a match on the sensor is.
    public enum Grade: UInt8, Sendable {
        /// Nothing is known of it.
        case ungraded = 0
        /// Weak.
        case weak = 1
        /// Strong.
        case strong = 2
        /// It has a known hole: no finger on it counts for anything.
        case unsafe = 3
    }

    /// Where the grade comes from.
    public enum Grader: UInt8, Sendable, CaseIterable {
        /// Nobody graded the sensor.
        case nobody = 0
        /// The administrator's table.
        case administrator = 1
        /// The daemon's settings, which grade a sensor weak, or accept it ungraded.
        case settings = 2
        /// What is known of the sensor's driver.
        case driver = 3
    }

    /// How trustworthy a match on the sensor is.
    public var grade: Grade
    /// Who graded or accepted the sensor.
    public var gradedBy: Grader
    /// Whether who graded the sensor says that it compares fingers itself.
    public var matchesOnChip: Bool
    /// Whether its messages to the computer are authenticated; nil if nobody says.
    public var hasSecureChannel: Bool?
    /// Whether it tells a living finger from a copy; nil if nobody says.
    public var detectsLiveness: Bool?
    /// fprintd's property `scan-type`, `press` or `swipe`; nil if it is not reported.
    public var scanType: String?

    /// Describes a sensor.
    public init(
        grade: Grade = .ungraded,
        gradedBy: Grader = .nobody,
        matchesOnChip: Bool = false,
        hasSecureChannel: Bool? = nil,
        detectsLiveness: Bool? = nil,
        scanType: String? = nil
    ) {
        self.grade = grade
        self.gradedBy = gradedBy
        self.matchesOnChip = matchesOnChip
        self.hasSecureChannel = hasSecureChannel
        self.detectsLiveness = detectsLiveness
        self.scanType = scanType
    }

    /// Whether a finger on the sensor meets only demands that accept a weak one: it was graded weak or unsafe, or neither graded nor accepted.
    public var isWeak: Bool {
        switch grade {
        case .weak, .unsafe: true
        case .ungraded: gradedBy == .nobody
        case .strong: false
        }
    }
}
