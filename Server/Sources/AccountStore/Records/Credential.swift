/// A credential of an account: WebAuthn's credential record (Level 3, section 4) and what the server adds to it.
public struct Credential: Sendable, Equatable {
    /// The kind of authenticator.
    public enum Kind: String, Sendable, CaseIterable {
        /// The native client's key.
        case device
        /// A passkey of a browser or a security key.
        case passkey
    }

    /// Why the credential cannot sign in; its sessions ended with the suspension.
    public enum Suspension: String, Sendable, CaseIterable {
        /// Its counter was not above the one stored when the ceremony was opened, though it cannot be backed up: there
        /// are two copies.
        case clonedCounter = "cloned_counter"
        /// An administrator suspended it.
        case administrator
        /// The same device registered a new credential.
        case superseded
        /// Its device reported that it can never use the key again: the enrolled fingers or the passcode changed.
        case invalidated
        /// Its device reported that it deleted the key.
        case deleted
    }

    /// The evidence for the origin of the key.
    public enum Assurance: String, Sendable, CaseIterable {
        /// Nothing.
        case none
        /// A signature by the key itself.
        case selfAttested = "self"
        /// A manufacturer's certificate.
        case basic
        /// A TPM, certified by this server's attestation CA or by its manufacturer.
        case tpm
    }

    /// The evidence of user verification.
    public enum UserVerificationEvidence: String, Sendable, CaseIterable {
        /// The authenticator's UV flag.
        case flag
        /// The policy of the key in the TPM.
        case tpmPolicy = "tpm_policy"
    }

    /// The credential's id.
    public let id: CredentialID
    /// The account that owns it.
    public let account: AccountID
    /// The kind of authenticator.
    public let kind: Kind
    /// The owner's name for it.
    public var label: String
    /// The public key, a COSE key as the authenticator encoded it.
    public let publicKey: [UInt8]
    /// The counter after the last ceremony.
    public var signCount: UInt32
    /// Whether it was used with user verification at least once.
    public var uvInitialized: Bool
    /// Whether it may be copied to other devices.
    public var backupEligible: Bool
    /// Whether it was copied, at the last ceremony.
    public var backupState: Bool
    /// Whether a chip attested the key at registration.
    public let isHardwareBound: Bool
    /// The authenticator's transports, as reported by the client.
    public let transports: [String]
    /// The authenticator's model (AAGUID), 16 bytes.
    public let aaguid: [UInt8]
    /// The evidence for the origin of the key.
    public let assurance: Assurance
    /// The evidence of user verification.
    public let uvEvidence: UserVerificationEvidence
    /// The SHA-256 of the chip's endorsement key, which identifies the device, if a chip attested the key.
    public let deviceAnchor: [UInt8]?
    /// The thumbprint (RFC 7638) of the device's session key, if it presented one.
    public let thumbprint: [UInt8]?
    /// When it was registered.
    public let createdAt: Timestamp
    /// When it last signed in or confirmed a transaction.
    public var lastUsedAt: Timestamp?
    /// Why it cannot sign in; nil: it can.
    public var suspension: Suspension?
    /// What its device last said of itself, as JSON; nil: nothing yet.
    public var statement: String?
    /// What its owner consented to at the registration, as the device signed it, as JSON; nil: it said nothing.
    public let consent: String?

    /// Creates a credential.
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
        suspension: Suspension? = nil,
        statement: String? = nil,
        consent: String? = nil
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
        self.statement = statement
        self.consent = consent
    }
}

/// The result of a registration.
public struct RegisteredCredential: Sendable, Equatable {
    /// The credential as it was stored, with its final label.
    public let credential: Credential
    /// The credentials that it superseded, which are suspended now.
    public let superseded: [CredentialID]

    /// Creates a result.
    public init(credential: Credential, superseded: [CredentialID]) {
        self.credential = credential
        self.superseded = superseded
    }
}

/// The data of a verified ceremony about the credential that signed.
public struct CredentialUse: Sendable, Equatable {
    /// The credential's id.
    public let id: CredentialID
    /// The counter in the authenticator data.
    public let signCount: UInt32
    /// The flag UV.
    public let userVerified: Bool
    /// The flag BE.
    public let backupEligible: Bool
    /// The flag BS.
    public let backupState: Bool
    /// When the ceremony was opened: what was stored then and is unchanged, the authenticator must exceed.
    public let openedAt: Timestamp
    /// What the device says of itself, as JSON; nil: nothing, and what it said before stays.
    public let statement: String?
    /// How that differs from what it said before; nil: not in what is watched.
    public let change: DeviceChange?

    /// Creates a use.
    public init(
        id: CredentialID,
        signCount: UInt32,
        userVerified: Bool,
        backupEligible: Bool,
        backupState: Bool,
        openedAt: Timestamp,
        statement: String? = nil,
        change: DeviceChange? = nil
    ) {
        self.id = id
        self.signCount = signCount
        self.userVerified = userVerified
        self.backupEligible = backupEligible
        self.backupState = backupState
        self.openedAt = openedAt
        self.statement = statement
        self.change = change
    }
}

/// A change of what a device says of itself, for ``AuditEvent/Name/credentialDeviceChanged``.
public struct DeviceChange: Sendable, Equatable {
    /// What changed, as words.
    public let reason: String
    /// The former and the present values, as JSON.
    public let details: String

    /// Describes a change.
    public init(reason: String, details: String) {
        self.reason = reason
        self.details = details
    }
}
