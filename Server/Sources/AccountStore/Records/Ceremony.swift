/// An open WebAuthn ceremony: valid once, and for minutes.
public struct Ceremony: Sendable, Equatable {
    /// The purpose of a ceremony.
    public enum Purpose: String, Sendable, CaseIterable {
        /// Signing in.
        case login
        /// Reauthentication in a session.
        case reauthentication
        /// Registering a credential.
        case registration
        /// Registering a key that is no credential.
        case deviceKey = "device_key"
    }

    /// The ceremony's id.
    public let id: CeremonyID
    /// The purpose.
    public let purpose: Purpose
    /// The account; nil: any passkey may respond, or the account does not exist.
    public let account: AccountID?
    /// The requesting session, if the ceremony needs one.
    public let session: SessionID?
    /// The complete options sent to the client, JSON: everything that the checks need later.
    public let options: String
    /// When the ceremony was opened.
    public let openedAt: Timestamp
    /// When the ceremony expires.
    public let expiresAt: Timestamp

    /// Creates a ceremony.
    public init(
        id: CeremonyID,
        purpose: Purpose,
        account: AccountID? = nil,
        session: SessionID? = nil,
        options: String,
        openedAt: Timestamp,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.purpose = purpose
        self.account = account
        self.session = session
        self.options = options
        self.openedAt = openedAt
        self.expiresAt = expiresAt
    }
}

/// The result of consuming a ceremony; no other request gets it again.
public struct ConsumedCeremony: Sendable, Equatable {
    /// The ceremony.
    public let ceremony: Ceremony
    /// The credential that was looked up, of any account; nil: there is none with that id.
    public let credential: Credential?
    /// The account of the credential.
    public let account: Account?

    /// Creates a result.
    public init(ceremony: Ceremony, credential: Credential?, account: Account?) {
        self.ceremony = ceremony
        self.credential = credential
        self.account = account
    }
}

/// An open activation of the attestation CA: the client has to return the secret.
public struct Activation: Sendable, Equatable {
    /// The activation's id.
    public let id: ActivationID
    /// The requesting account.
    public let account: AccountID
    /// The SHA-256 of the secret, which only the chip can decrypt.
    public let secretDigest: [UInt8]
    /// The attestation key's certificate, DER: issued when the secret is returned.
    public let certificate: [UInt8]
    /// The SHA-256 of the chip's endorsement key.
    public let deviceAnchor: [UInt8]
    /// When the activation expires.
    public let expiresAt: Timestamp

    /// Creates an activation.
    public init(
        id: ActivationID,
        account: AccountID,
        secretDigest: [UInt8],
        certificate: [UInt8],
        deviceAnchor: [UInt8],
        expiresAt: Timestamp
    ) {
        self.id = id
        self.account = account
        self.secretDigest = secretDigest
        self.certificate = certificate
        self.deviceAnchor = deviceAnchor
        self.expiresAt = expiresAt
    }
}

/// An attestation key certified by the CA, with the chip that holds it.
public struct AttestationKey: Sendable, Equatable {
    /// The SHA-256 of the certificate (DER).
    public let certificateDigest: [UInt8]
    /// The requesting account.
    public let account: AccountID
    /// The SHA-256 of the chip's endorsement key.
    public let deviceAnchor: [UInt8]
    /// When the certificate expires.
    public let expiresAt: Timestamp

    /// Creates a record.
    public init(
        certificateDigest: [UInt8],
        account: AccountID,
        deviceAnchor: [UInt8],
        expiresAt: Timestamp
    ) {
        self.certificateDigest = certificateDigest
        self.account = account
        self.deviceAnchor = deviceAnchor
        self.expiresAt = expiresAt
    }
}
