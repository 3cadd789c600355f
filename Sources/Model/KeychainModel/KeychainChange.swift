/// Something changed that every program of the user may know of: no secret, no name of an item, no other program.
public struct KeychainChange: Sendable, Hashable {
    /// What changed.
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// The keychain was set up or recovered, or its passcode changed.
        case passcode = 1
        /// The keychain was unlocked.
        case unlocked = 2
        /// The keychain was locked.
        case locked = 3
        /// The enrolled fingers are others.
        case enrolment = 4
        /// A sensor came or went, or its fingerprint service did.
        case sensor = 5
        /// Fingers, or passcodes for a while, count for nothing.
        case lockout = 6
        /// They count again.
        case lockoutEnd = 7
        /// Items of former fingers are gone for good.
        case invalidated = 8
        /// The keychain is protected less than before.
        case assurance = 9
        /// Something stored is not authentic, or older than it was.
        case tampering = 10
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
