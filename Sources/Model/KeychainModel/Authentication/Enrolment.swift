/// What can be seen of the enrolled fingers.
public struct Enrolment: Hashable, Sendable {
    /// What the current set is compared by.
    public enum Binding: UInt8, Sendable {
        /// Finger names alone: re-enrolling the same finger goes unseen unless the daemon was running.
        case names = 1
        /// The template files themselves.
        case templates = 2
    }

    /// The sensor's name, as fprintd gives it.
    public let device: String
    /// fprintd's names of the enrolled fingers, sorted.
    public let fingers: [String]
    /// A digest over the template files, where they can be read.
    public let templateDigest: [UInt8]?
    /// Grows by one with each enrolment that was seen to complete while the driver ran; 0 at its start.
    public let completions: UInt64
    /// What is known of the sensor.
    public let sensor: SensorFacts

    /// Describes a set.
    public init(
        device: String,
        fingers: [String],
        templateDigest: [UInt8]?,
        completions: UInt64,
        sensor: SensorFacts = SensorFacts()
    ) {
        self.sensor = sensor
        self.device = device
        self.fingers = fingers.sorted()
        self.templateDigest = templateDigest
        self.completions = completions
    }

    /// Compares the sets; what is known of the sensor is no part of one.
    public static func == (lhs: Enrolment, rhs: Enrolment) -> Bool {
        lhs.device == rhs.device && lhs.fingers == rhs.fingers && lhs.templateDigest == rhs.templateDigest
            && lhs.completions == rhs.completions
    }

    /// Hashes the set.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(fingers)
        hasher.combine(templateDigest)
        hasher.combine(completions)
    }

    /// What the set is compared by.
    public var binding: Binding { templateDigest == nil ? .names : .templates }

    /// Whether a finger is enrolled.
    public var isEmpty: Bool { fingers.isEmpty }
}
