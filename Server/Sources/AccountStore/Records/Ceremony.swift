/// A WebAuthn ceremony that was begun: it is good once, and for minutes.
public struct Ceremony: Sendable, Equatable {
    /// What it is for.
    public enum Purpose: String, Sendable, CaseIterable {
        /// Signing in.
        case login
        /// Being authenticated again in a session.
        case reauthentication
        /// Registering a credential.
        case registration
    }

    /// Its id.
    public let id: CeremonyID
    /// What it is for.
    public let purpose: Purpose
    /// For whom; nil: whoever has a passkey, or an account that does not exist.
    public let account: AccountID?
    /// The session that asked, when it takes one.
    public let session: SessionID?
    /// The full options as the client got them, JSON: all that the checks need later.
    public let options: String
    /// The end of it.
    public let expiresAt: Timestamp

    /// Describes a ceremony.
    public init(
        id: CeremonyID,
        purpose: Purpose,
        account: AccountID? = nil,
        session: SessionID? = nil,
        options: String,
        expiresAt: Timestamp
    ) {
        self.id = id
        self.purpose = purpose
        self.account = account
        self.session = session
        self.options = options
        self.expiresAt = expiresAt
    }
}

/// What taking a ceremony brings: nobody else gets it again.
public struct ConsumedCeremony: Sendable, Equatable {
    /// The ceremony.
    public let ceremony: Ceremony
    /// The credential that was asked for, whoever it belongs to; nil: there is none of that id.
    public let credential: Credential?
    /// The account of that credential.
    public let account: Account?

    /// Describes one.
    public init(ceremony: Ceremony, credential: Credential?, account: Account?) {
        self.ceremony = ceremony
        self.credential = credential
        self.account = account
    }
}

/// An activation of the attestation CA that was begun: the client has to bring the secret back.
public struct Activation: Sendable, Equatable {
    /// Its id.
    public let id: ActivationID
    /// Who asked.
    public let account: AccountID
    /// The SHA-256 of the secret that only the chip can read.
    public let secretDigest: [UInt8]
    /// The attestation key's certificate, DER: handed out when the secret comes back.
    public let certificate: [UInt8]
    /// The SHA-256 of the chip's endorsement key.
    public let deviceAnchor: [UInt8]
    /// The end of it.
    public let expiresAt: Timestamp

    /// Describes an activation.
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

/// An attestation key that the CA gave a certificate to: which chip it is in.
public struct AttestationKey: Sendable, Equatable {
    /// The SHA-256 of the certificate (DER).
    public let certificateDigest: [UInt8]
    /// Who asked for it.
    public let account: AccountID
    /// The SHA-256 of the chip's endorsement key.
    public let deviceAnchor: [UInt8]
    /// The certificate's end.
    public let expiresAt: Timestamp

    /// Describes one.
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
