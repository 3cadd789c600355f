public import Foundation

/// One line of a security log: what befell this process's stores, keys and prompts, or the keychain as a whole.
///
/// It holds names that the app gave and codes; no secret, no template, nothing of another app.
///
/// ```swift
/// for await event in Keychain.current.securityEvents() {
///     logger.notice("keychain", metadata: event.metadata.mapValues { .string($0) })
/// }
/// ```
public struct SecurityEvent: Sendable, Hashable {
    /// What happened; the set grows.
    public struct Kind: RawRepresentable, Sendable, Hashable {
        /// The kind's name, such as `lockout`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A call of this process went through.
        public static let success = Kind(rawValue: "success")
        /// A call of this process threw, which ``SecurityEvent/error`` is.
        public static let failure = Kind(rawValue: "failure")
        /// Fingers count for nothing until the passcode, or passcodes for a while, whoever tried.
        public static let lockout = Kind(rawValue: "lockout")
        /// The enrolled fingers are others.
        public static let enrolmentChanged = Kind(rawValue: "enrolmentChanged")
        /// Secrets or keys of former fingers are gone for good, of whichever app.
        public static let invalidated = Kind(rawValue: "invalidated")
        /// The keychain is protected less than before.
        public static let assuranceChanged = Kind(rawValue: "assuranceChanged")
        /// The keychain found something that is not authentic, or older than what it knows.
        public static let rolledBack = Kind(rawValue: "rolledBack")
        /// More happened than can be told, because it was not read in time or the daemon was away.
        public static let missed = Kind(rawValue: "missed")
    }

    /// What happened.
    public let kind: Kind
    /// When.
    public let time: Date
    /// The store and key, or the key's name, that this process named; nil where it was about none.
    public let item: String?
    /// What a ``Kind/failure`` threw.
    public let error: TouchstoneError?

    init(_ kind: Kind, at time: Date = Date(), item: String? = nil, error: TouchstoneError? = nil) {
        self.kind = kind
        self.time = time
        self.item = item
        self.error = error
    }

    /// The same as flat text, for a structured log: `event`, and `item`, `error`, `part` and `cause` where there are any.
    public var metadata: [String: String] {
        var metadata = ["event": kind.rawValue]
        metadata["item"] = item
        metadata["error"] = error?.code.rawValue
        metadata["part"] = error?.part
        metadata["cause"] = error?.cause
        return metadata
    }
}
