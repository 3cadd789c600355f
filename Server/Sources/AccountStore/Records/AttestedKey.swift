/// A key of an account that a TPM attested, for a purpose and a name: no credential, and it signs nobody in.
public struct AttestedKey: Sendable, Equatable {
    /// The SHA-256 of the public key.
    public let id: AttestedKeyID
    /// The account that owns it.
    public let account: AccountID
    /// What it is for: `Signing`, `Agreement`, `Sealing`, or an app's own word; the chip signed it.
    public let purpose: String
    /// The key's name on its device; the chip signed it.
    public let name: String
    /// The public key on P-256, uncompressed X9.63.
    public let publicKey: [UInt8]
    /// The SHA-256 of the chip's endorsement key, if this server's CA certified its attestation key.
    public let deviceAnchor: [UInt8]?
    /// When it was registered.
    public let createdAt: Timestamp

    /// Creates a key.
    public init(
        id: AttestedKeyID,
        account: AccountID,
        purpose: String,
        name: String,
        publicKey: [UInt8],
        deviceAnchor: [UInt8]? = nil,
        createdAt: Timestamp
    ) {
        self.id = id
        self.account = account
        self.purpose = purpose
        self.name = name
        self.publicKey = publicKey
        self.deviceAnchor = deviceAnchor
        self.createdAt = createdAt
    }
}
