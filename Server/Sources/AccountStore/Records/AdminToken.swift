/// What an administrator shows.
public struct AdminToken: Sendable, Equatable {
    /// Its digest.
    public let digest: TokenDigest
    /// Whose it is, for the audit.
    public let name: String
    /// When it was made.
    public let createdAt: Timestamp
    /// Its end; nil: until it is removed.
    public let expiresAt: Timestamp?

    /// Describes a token.
    public init(digest: TokenDigest, name: String, createdAt: Timestamp, expiresAt: Timestamp? = nil) {
        self.digest = digest
        self.name = name
        self.createdAt = createdAt
        self.expiresAt = expiresAt
    }
}
