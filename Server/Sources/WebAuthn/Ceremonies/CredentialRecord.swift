/// A server's record of a credential (WebAuthn Level 3, section 4, "credential record").
public struct CredentialRecord: Sendable, Equatable {
    /// The credential's id; at most 1023 bytes, unique among all users.
    public let id: [UInt8]
    /// The public key, a COSE key as the authenticator encoded it.
    public let publicKey: [UInt8]
    /// The counter after the last ceremony.
    public var signCount: UInt32
    /// The authenticator's transports, as reported by the client at registration.
    public var transports: [String]
    /// Whether it was used with user verification at least once.
    public var uvInitialized: Bool
    /// Whether it may be copied to other devices.
    public var backupEligible: Bool
    /// Whether it was copied, at the last ceremony.
    public var backupState: Bool
    /// Whether a chip attested the key at registration: then it cannot be copied, whatever a later flag says.
    public let isHardwareBound: Bool

    /// Creates a record.
    public init(
        id: [UInt8],
        publicKey: [UInt8],
        signCount: UInt32,
        transports: [String] = [],
        uvInitialized: Bool,
        backupEligible: Bool,
        backupState: Bool,
        isHardwareBound: Bool
    ) {
        self.id = id
        self.publicKey = publicKey
        self.signCount = signCount
        self.transports = transports
        self.uvInitialized = uvInitialized
        self.backupEligible = backupEligible
        self.backupState = backupState
        self.isHardwareBound = isHardwareBound
    }
}
