public import Foundation

/// Whether a prompt with given authenticators is possible now, and the sensor.
public struct Capability: Sendable, Hashable {
    /// The error that a prompt would throw; nil if the prompt is possible.
    public let obstacle: TouchstoneError?
    /// The sensor, even while it is locked out or has no enrolled fingers; nil if there is none.
    public let sensor: Sensor?
    /// Bytes that change whenever the set of enrolled fingers changes, different for each app; nil if changes
    /// cannot be detected.
    public let enrolmentState: Data?

    /// A biometric sensor and its known properties.
    public struct Sensor: Sendable, Hashable {
        /// The sensor's name, as its driver reports it.
        public let name: String
        /// The biometric method that the sensor supports.
        public let modality: AuthenticationMethod
        /// The number of fingers enrolled for this user; nil if the system does not report it.
        public let enrolledCount: Int?
        /// The authenticators that the sensor satisfies.
        public let strength: Authenticators
        /// The reasons for ``strength``, such as `grade`: `strong`, `weak`, or `ungraded` if nothing is known of the
        /// sensor.
        ///
        /// `gradedBy` is `administrator`, `settings` or `driver`; an ungraded sensor has the strength of a weak one, unless there is
        /// `acceptedBy`.
        public let evidence: [String: String]
    }
}
