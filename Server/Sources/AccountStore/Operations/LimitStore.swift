/// Limits that all server processes share.
public protocol LimitStore: Sendable {
    /// Counts one use of each limit.
    ///
    /// - Returns: the first limit that is used up; what it counted of others before stays counted.
    func take(_ limits: [RateLimit], now: Timestamp) async throws(StoreError) -> LimitVerdict

    /// Counts an attempt at a password as failed before it is checked, so that many at a time are not tried for one; a
    /// login that succeeds forgets it (``LoginCompletion/resetting``).
    ///
    /// `delay` says how long to wait after so many failures in a row (nil: until the day's end, UTC). The limits are
    /// counted in the same transaction, before it.
    func takeAttempt(
        _ key: LimitKey,
        delay: @escaping @Sendable (_ failures: Int) -> Duration?,
        limits: [RateLimit],
        now: Timestamp
    ) async throws(StoreError) -> AttemptVerdict

    /// Takes back one use or one attempt of each, which was counted at `now` and turned out to be no failure; a window that
    /// began since is another.
    func giveBack(_ keys: [LimitKey], now: Timestamp) async throws(StoreError)

    /// Forgets what was counted.
    func reset(_ keys: [LimitKey]) async throws(StoreError)

    /// Takes a proof of possession as used, where no other operation does.
    func takeProof(_ proof: ProofIdentifier, now: Timestamp) async throws(StoreError) -> ProofVerdict
}

/// What is counted: a kind and whose it is; stored as a digest.
public struct LimitKey: Hashable, Sendable {
    /// The kind and the subject.
    public let text: String

    /// Names what is counted, `LimitKey("password", username)`.
    public init(_ kind: String, _ subject: String) { text = "\(kind)/\(subject)" }
}

/// At most so many in a window of time, which begins with the first.
public struct RateLimit: Hashable, Sendable {
    /// What is counted.
    public let key: LimitKey
    /// How many.
    public let most: Int
    /// In what time.
    public let window: Duration

    /// Describes a limit.
    public init(_ key: LimitKey, most: Int, window: Duration) {
        self.key = key
        self.most = most
        self.window = window
    }
}

/// Whether there is room.
public enum LimitVerdict: Sendable, Equatable {
    /// There was.
    case allowed
    /// This one is used up until then.
    case exceeded(LimitKey, until: Timestamp)
}

/// Whether somebody may try.
public enum AttemptVerdict: Sendable, Equatable {
    /// Yes, after so many failures in a row; this one counts as a failure until it is reset.
    case allowed(failures: Int)
    /// Not before then.
    case wait(failures: Int, until: Timestamp)
    /// A limit is used up until then.
    case exceeded(LimitKey, until: Timestamp)
}

/// A proof of possession (`jti`, RFC 9449 section 11.1): it is good once.
public struct ProofIdentifier: Sendable, Equatable {
    /// The SHA-256 of the key's thumbprint and the proof's own number, 32 bytes.
    public let digest: [UInt8]
    /// From then on it would be refused for its age.
    public let expiresAt: Timestamp

    /// Describes a proof.
    public init(digest: [UInt8], expiresAt: Timestamp) {
        self.digest = digest
        self.expiresAt = expiresAt
    }
}

/// Whether a proof is new.
public enum ProofVerdict: Sendable, Equatable {
    /// It is; not any more from now on.
    case fresh
    /// It was used.
    case replayed
}
