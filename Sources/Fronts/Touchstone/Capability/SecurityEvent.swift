public import Foundation

/// An entry for a security log: an event of this process's stores, keys and prompts, or of the keychain as a
/// whole.
///
/// It contains names that the app chose, and error codes; no secret, no biometric template, nothing of other
/// apps.
///
/// ```swift
/// for await event in Keychain.current.securityEvents() {
///     logger.notice("keychain", metadata: event.metadata.mapValues { .string($0) })
/// }
/// ```
public struct SecurityEvent: Sendable, Hashable {
    /// The kind of an event; new kinds may be added in later versions.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The kind's name, such as `lockout`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A call of this process succeeded.
        public static let success = Kind(rawValue: "success")
        /// A call of this process threw the error in ``SecurityEvent/error``.
        public static let failure = Kind(rawValue: "failure")
        /// Biometry is locked out until the passcode is entered, or the passcode is locked out for a time,
        /// whichever program caused it.
        public static let lockout = Kind(rawValue: "lockout")
        /// The set of enrolled fingers changed.
        public static let enrolmentChanged = Kind(rawValue: "enrolmentChanged")
        /// Secrets or keys bound to former fingers were invalidated, of this or another app.
        public static let invalidated = Kind(rawValue: "invalidated")
        /// The keychain's protection is now weaker.
        public static let assuranceChanged = Kind(rawValue: "assuranceChanged")
        /// The keychain found stored data that is not authentic, or older than the data last written.
        public static let rolledBack = Kind(rawValue: "rolledBack")
        /// Events were lost: they were not read in time, or the daemon was not running.
        public static let missed = Kind(rawValue: "missed")
    }

    /// What happened.
    public let kind: Kind
    /// When the event happened.
    public let time: Date
    /// The store and its key, or the name of the device key; nil for an event without one.
    public let item: String?
    /// The error of a ``Kind/failure``.
    public let error: TouchstoneError?

    init(_ kind: Kind, at time: Date = Date(), item: String? = nil, error: TouchstoneError? = nil) {
        self.kind = kind
        self.time = time
        self.item = item
        self.error = error
    }

    /// The event as flat text for a structured log: `event`, and `item`, `error`, `part` and `cause` if they are known.
    public var metadata: [String: String] {
        var metadata = ["event": kind.rawValue]
        metadata["item"] = item
        metadata["error"] = error?.code.rawValue
        metadata["part"] = error?.part
        metadata["cause"] = error?.cause
        return metadata
    }
}
