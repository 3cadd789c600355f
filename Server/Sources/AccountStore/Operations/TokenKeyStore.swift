/// The public keys of access tokens that services verify themselves.
public protocol TokenKeyStore: Sendable {
    /// Adds a server's key, or lets it stay for longer.
    func publish(_ key: PublishedKey) async throws(StoreError)

    /// The keys of all servers whose tokens may be valid, the newest end first.
    func publishedKeys(now: Timestamp) async throws(StoreError) -> [PublishedKey]
}

/// The public half of a key that signs access tokens.
public struct PublishedKey: Sendable, Equatable {
    /// The thumbprint (RFC 7638), 32 bytes.
    public let thumbprint: [UInt8]
    /// The coordinates of the point of P-256, 64 bytes.
    public let rawRepresentation: [UInt8]
    /// When all its tokens have expired.
    public let expiresAt: Timestamp

    /// Creates one.
    public init(thumbprint: [UInt8], rawRepresentation: [UInt8], expiresAt: Timestamp) {
        self.thumbprint = thumbprint
        self.rawRepresentation = rawRepresentation
        self.expiresAt = expiresAt
    }
}
