/// What a server keeps of a credential (WebAuthn Level 3, section 4, "credential record").
public struct CredentialRecord: Sendable, Equatable {
    /// The credential's id; at most 1023 bytes, unique among all users.
    public let id: [UInt8]
    /// The public key, a COSE key as the authenticator encoded it.
    public let publicKey: [UInt8]
    /// The counter as of the last ceremony.
    public var signCount: UInt32
    /// How the authenticator can be reached, as the client said at registration.
    public var transports: [String]
    /// Whether somebody was verified with it at least once.
    public var uvInitialized: Bool
    /// Whether it may be copied to other devices.
    public var backupEligible: Bool
    /// Whether it was copied, as of the last ceremony.
    public var backupState: Bool
    /// Whether a chip vouched for the key at registration: then it cannot be copied, whatever a flag says later.
    public let isHardwareBound: Bool

    /// Describes a credential.
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
