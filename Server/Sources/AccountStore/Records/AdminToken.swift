/// An administrator's token.
public struct AdminToken: Sendable, Equatable {
    /// The token's digest.
    public let digest: TokenDigest
    /// The administrator's name, for the audit.
    public let name: String
    /// When it was created.
    public let createdAt: Timestamp
    /// When it expires; nil: valid until it is removed.
    public let expiresAt: Timestamp?

    /// Creates a token.
    public init(digest: TokenDigest, name: String, createdAt: Timestamp, expiresAt: Timestamp? = nil) {
        self.digest = digest
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}
