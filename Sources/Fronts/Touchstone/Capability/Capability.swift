public import Foundation

/// Whether a demand can be met now, and by which sensor.
public struct Capability: Sendable, Hashable {
    /// What asking would throw; nil where it can be asked.
    public let obstacle: TouchstoneError?
    /// The sensor; there also while it is locked out or nobody is enrolled, nil where there is none.
    public let sensor: Sensor?
    /// Bytes that change whenever the enrolled set changes, other ones for each app; nil where that cannot be told.
    public let enrolmentState: Data?

    /// A sensor and what is known of it.
    public struct Sensor: Sendable, Hashable {
        /// Its name, as its driver has it.
        public let name: String
        /// What it sees.
        public let modality: AuthenticationMethod
        /// How many are enrolled for this user; nil where the system does not tell.
        public let enrolledCount: Int?
        /// Which demands it meets.
        public let strength: Authenticators
        /// What the strength follows from, such as `grade`: `strong`, `weak`, or `ungraded` where nothing is known of it.
        public let evidence: [String: String]
    }
}
