/// A credential of an account: WebAuthn's credential record (Level 3, section 4) and what the server adds to it.
public struct Credential: Sendable, Equatable {
    /// What it is on.
    public enum Kind: String, Sendable, CaseIterable {
        /// The native client's key.
        case device
        /// A passkey of a browser or a security key.
        case passkey
    }

    /// Why it does not sign anybody in; its sessions ended with it.
    public enum Suspension: String, Sendable, CaseIterable {
        /// Its counter did not grow: there are two of it.
        case clonedCounter = "cloned_counter"
        /// An administrator's decision.
        case administrator
        /// The same device registered a new one.
        case superseded
    }

    /// What vouches for the key.
    public enum Assurance: String, Sendable, CaseIterable {
        /// Nothing.
        case none
        /// The key itself.
        case selfAttested = "self"
        /// A maker's certificate.
        case basic
        /// A TPM, whose certificate this server's attestation CA or a maker gave.
        case tpm
    }

    /// What says that somebody was verified.
    public enum UserVerificationEvidence: String, Sendable, CaseIterable {
        /// The authenticator's flag.
        case flag
        /// The policy of the key in the TPM.
        case tpmPolicy = "tpm_policy"
    }

    /// Its id.
    public let id: CredentialID
    /// Whose it is.
    public let account: AccountID
    /// What it is on.
    public let kind: Kind
    /// What its owner calls it.
    public var label: String
    /// The public key, a COSE key as the authenticator encoded it.
    public let publicKey: [UInt8]
    /// The counter as of the last ceremony.
    public var signCount: UInt32
    /// Whether somebody was verified with it at least once.
    public var uvInitialized: Bool
    /// Whether it may be copied to other devices.
    public var backupEligible: Bool
    /// Whether it was copied, as of the last ceremony.
    public var backupState: Bool
    /// Whether a chip vouched for the key at registration.
    public let isHardwareBound: Bool
    /// How the authenticator can be reached, as the client said.
    public let transports: [String]
    /// The kind of authenticator, 16 bytes.
    public let aaguid: [UInt8]
    /// What vouches for the key.
    public let assurance: Assurance
    /// What says that somebody was verified.
    public let uvEvidence: UserVerificationEvidence
    /// The SHA-256 of the chip's endorsement key: which device it is on, when a chip said so.
    public let deviceAnchor: [UInt8]?
    /// The thumbprint (RFC 7638) of the device's session key, if it showed one.
    public let thumbprint: [UInt8]?
    /// When it was registered.
    public let createdAt: Timestamp
    /// When it last signed somebody in or confirmed something.
    public var lastUsedAt: Timestamp?
    /// Why it does not sign anybody in; nil: it does.
    public var suspension: Suspension?

    /// Describes a credential.
    public init(
        id: CredentialID,
        account: AccountID,
        kind: Kind,
        label: String,
        publicKey: [UInt8],
        signCount: UInt32,
        uvInitialized: Bool,
        backupEligible: Bool,
        backupState: Bool,
        isHardwareBound: Bool,
        transports: [String],
        aaguid: [UInt8],
        assurance: Assurance,
        uvEvidence: UserVerificationEvidence,
        deviceAnchor: [UInt8]? = nil,
        thumbprint: [UInt8]? = nil,
        createdAt: Timestamp,
        lastUsedAt: Timestamp? = nil,
        suspension: Suspension? = nil
    ) {
        self.id = id
        self.account = account
        self.kind = kind
        self.label = label
        self.publicKey = publicKey
        self.signCount = signCount
        self.uvInitialized = uvInitialized
        self.backupEligible = backupEligible
        self.backupState = backupState
        self.isHardwareBound = isHardwareBound
        self.transports = transports
        self.aaguid = aaguid
        self.assurance = assurance
        self.uvEvidence = uvEvidence
        self.deviceAnchor = deviceAnchor
        self.thumbprint = thumbprint
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
        self.suspension = suspension
    }
}

/// What a ceremony says of the credential that signed, after all its checks.
public struct CredentialUse: Sendable, Equatable {
    /// Which one.
    public let id: CredentialID
    /// The counter in the authenticator data.
    public let signCount: UInt32
    /// The flag UV.
    public let userVerified: Bool
    /// The flag BE.
    public let backupEligible: Bool
    /// The flag BS.
    public let backupState: Bool

    /// Describes a use.
    public init(
        id: CredentialID,
        signCount: UInt32,
        userVerified: Bool,
        backupEligible: Bool,
        backupState: Bool
    ) {
        self.id = id
        self.signCount = signCount
        self.userVerified = userVerified
        self.backupEligible = backupEligible
        self.backupState = backupState
    }
}
