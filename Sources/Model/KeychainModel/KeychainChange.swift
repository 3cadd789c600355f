/// A change that every program of the user may learn of: without secrets, item names or other programs' names; ``Kind/items`` only the
/// programs that may use the items.
public struct KeychainChange: Sendable, Hashable {
    /// What changed.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// The keychain was set up or recovered, or its passcode changed.
        case passcode = 1
        /// The keychain was unlocked.
        case unlocked = 2
        /// The keychain was locked.
        case locked = 3
        /// The enrolled fingers changed.
        case enrolment = 4
        /// A sensor or its fingerprint service appeared or disappeared, or fingers were switched off or on for a program.
        case sensor = 5
        /// Fingers are locked out, or passcodes for a while.
        case lockout = 6
        /// Fingers and passcodes are accepted again.
        case lockoutEnd = 7
        /// Items of formerly enrolled fingers are lost for good.
        case invalidated = 8
        /// The keychain's assurance decreased.
        case assurance = 9
        /// Stored data is not authentic, or was replaced by an older copy.
        case tampering = 10
        /// Items of a group that the watching program may use were stored, changed or deleted; told only to those that ask for it.
        case items = 11
    }

    /// What changed.
    public let kind: Kind
    /// When, in microseconds since 1970.
    public let time: Int64

    /// Describes a change.
    public init(_ kind: Kind, time: Int64) {
        self.kind = kind
        self.time = time
    }
}
