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

    /// Describes a set.
    public init(device: String, fingers: [String], templateDigest: [UInt8]?, completions: UInt64) {
        self.device = device
        self.fingers = fingers.sorted()
        self.templateDigest = templateDigest
        self.completions = completions
    }

    /// What the set is compared by.
    public var binding: Binding { templateDigest == nil ? .names : .templates }

    /// Whether a finger is enrolled.
    public var isEmpty: Bool { fingers.isEmpty }
}
