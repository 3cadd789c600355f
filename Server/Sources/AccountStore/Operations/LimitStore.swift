/// Limits that all server processes share.
public protocol LimitStore: Sendable {
    /// Counts one use of each limit.
    ///
    /// - Returns: the first exceeded limit; the uses counted for limits before it stay counted.
    func take(_ limits: [RateLimit], now: Timestamp) async throws(StoreError) -> LimitVerdict

    /// Counts a password attempt as failed before it is checked, so that concurrent attempts are not counted as one; a
    /// successful login forgets it (``LoginCompletion/resetting``).
    ///
    /// `delay` returns how long to wait after a number of consecutive failures (nil: until the end of the day, UTC).
    /// The limits are counted first, in the same transaction; an exceeded one refuses only keys with failures.
    func takeAttempt(
        _ key: LimitKey,
        delay: @escaping @Sendable (_ failures: Int) -> Duration?,
        limits: [RateLimit],
        now: Timestamp
    ) async throws(StoreError) -> AttemptVerdict

    /// Takes back one use or attempt of each key that was counted at `now` and was not a failure; a window that began
    /// since is not changed.
    func giveBack(_ keys: [LimitKey], now: Timestamp) async throws(StoreError)

    /// Resets the counts.
    func reset(_ keys: [LimitKey]) async throws(StoreError)

    /// Marks a proof of possession as used, if no other operation does.
    func takeProof(_ proof: ProofIdentifier, now: Timestamp) async throws(StoreError) -> ProofVerdict
}

/// The key of a count: a kind and a subject; stored as a digest.
public struct LimitKey: Hashable, Sendable {
    /// The kind and the subject.
    public let text: String

    /// Creates a key, such as `LimitKey("password", username)`.
    public init(_ kind: String, _ subject: String) { text = "\(kind)/\(subject)" }
}

/// A maximum number of uses in a time window, which begins with the first use.
public struct RateLimit: Hashable, Sendable {
    /// The key of the count.
    public let key: LimitKey
    /// The maximum number.
    public let most: Int
    /// The length of the window.
    public let window: Duration

    /// Creates a limit.
    public init(_ key: LimitKey, most: Int, window: Duration) {
        self.key = key
        self.most = most
        self.window = window
    }
}

/// The failures of an address, beyond which only names without failures pass; reading it counts nothing.
public struct FailureLimit: Sendable {
    /// The limit of the address.
    public let address: RateLimit
    /// The key of the name's failures; nil: no name was given.
    public let name: LimitKey?

    /// Creates a limit.
    public init(address: RateLimit, name: LimitKey?) {
        self.address = address
        self.name = name
    }
}

/// Whether a use is within the limits.
public enum LimitVerdict: Sendable, Equatable {
    /// It is.
    case allowed
    /// This limit is exceeded until then.
    case exceeded(LimitKey, until: Timestamp)
}

/// Whether an attempt is allowed.
public enum AttemptVerdict: Sendable, Equatable {
    /// It is, after this number of consecutive failures; it counts as a failure until it is reset.
    case allowed(failures: Int)
    /// Not before then.
    case wait(failures: Int, until: Timestamp)
    /// A limit is exceeded until then.
    case exceeded(LimitKey, until: Timestamp)
}

/// A proof of possession (`jti`, RFC 9449 section 11.1), which is valid once.
public struct ProofIdentifier: Sendable, Equatable {
    /// The SHA-256 of the key's thumbprint and the proof's `jti`, 32 bytes.
    public let digest: [UInt8]
    /// From then on the proof is too old anyway.
    public let expiresAt: Timestamp

    /// Creates an identifier.
    public init(digest: [UInt8], expiresAt: Timestamp) {
        self.digest = digest
        self.expiresAt = expiresAt
    }
}

/// Whether a proof is new.
public enum ProofVerdict: Sendable, Equatable {
    /// It is, and is now marked as used.
    case fresh
    /// It was used before.
    case replayed
}
