/// What can be seen of the enrolled fingers.
public struct Enrolment: Hashable, Sendable {
    /// What the current set is compared by.
    public enum Binding: UInt8, Sendable {
        /// Finger names alone: re-enrolling the same finger goes unseen unless the daemon was running.
        case names = 1
        /// The template files themselves.
        case templates = 2
        /// Nothing now: whoever may read the templates does not answer, and names alone are not enough.
        case untold = 3
    }

    /// What is known of the templates.
    public enum Templates: Hashable, Sendable {
        /// They cannot be read in this mode: the names are all that there is to compare.
        case unreadable
        /// A digest over them.
        case digest([UInt8])
        /// Whoever may read them does not answer: until then no set can be told from another one.
        case untold
    }

    /// The sensor's name, as fprintd gives it.
    public let device: String
    /// fprintd's names of the enrolled fingers, sorted.
    public let fingers: [String]
    /// What is known of the template files.
    public let templates: Templates
    /// Grows by one with each enrolment that was seen to complete while the driver ran; 0 at its start.
    public let completions: UInt64
    /// What is known of the sensor.
    public let sensor: SensorFacts

    /// Describes a set.
    public init(
        device: String,
        fingers: [String],
        templates: Templates,
        completions: UInt64,
        sensor: SensorFacts = SensorFacts()
    ) {
        self.sensor = sensor
        self.device = device
        self.fingers = fingers.sorted()
        self.templates = templates
        self.completions = completions
    }

    /// Describes a set whose templates were read, or cannot be (nil).
    public init(
        device: String,
        fingers: [String],
        templateDigest: [UInt8]?,
        completions: UInt64,
        sensor: SensorFacts = SensorFacts()
    ) {
        self.init(
            device: device,
            fingers: fingers,
            templates: templateDigest.map(Templates.digest) ?? .unreadable,
            completions: completions,
            sensor: sensor
        )
    }

    /// The digest over the templates; nil where there is none.
    public var templateDigest: [UInt8]? {
        if case .digest(let digest) = templates { digest } else { nil }
    }

    /// Compares the sets; what is known of the sensor is no part of one.
    public static func == (lhs: Enrolment, rhs: Enrolment) -> Bool {
        lhs.device == rhs.device && lhs.fingers == rhs.fingers && lhs.templates == rhs.templates
            && lhs.completions == rhs.completions
    }

    /// Hashes the set.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(device)
        hasher.combine(fingers)
        hasher.combine(templates)
        hasher.combine(completions)
    }

    /// What the set is compared by; that no finger is enrolled needs no templates.
    public var binding: Binding {
        switch templates {
        case .digest: .templates
        case .untold where !isEmpty: .untold
        case .unreadable, .untold: .names
        }
    }

    /// Whether a finger is enrolled.
    public var isEmpty: Bool { fingers.isEmpty }
}
