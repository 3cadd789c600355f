/// The observable facts about the enrolled fingers.
public struct Enrolment: Hashable, Sendable {
    /// The basis on which the current set is compared.
    public enum Binding: UInt8, Sendable {
        /// Finger names alone: re-enrolling the same finger is detected only while the daemon runs.
        case names = 1
        /// The template files themselves.
        case templates = 2
        /// No basis now: the broker, which may read the templates, does not reply, and names alone are not enough.
        case untold = 3
    }

    /// The state of the templates.
    public enum Templates: Hashable, Sendable {
        /// They cannot be read in this mode: only the names can be compared.
        case unreadable
        /// A digest over them.
        case digest([UInt8])
        /// The broker, which may read them, does not reply: until then sets cannot be compared.
        case untold
    }

    /// The sensor's name, as fprintd reports it.
    public let device: String
    /// fprintd's names of the enrolled fingers, sorted.
    public let fingers: [String]
    /// The state of the template files.
    public let templates: Templates
    /// Incremented with each enrolment that completed while the driver ran; 0 at its start.
    public let completions: UInt64
    /// The known facts about the sensor.
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

    /// Describes a set whose templates were read, or cannot be read (nil).
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

    /// The digest over the templates; nil if there is none.
    public var templateDigest: [UInt8]? {
        if case .digest(let digest) = templates { digest } else { nil }
    }

    /// Compares the sets; the sensor's facts are not part of a set.
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

    /// The basis on which the set is compared; an empty set needs no templates.
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
