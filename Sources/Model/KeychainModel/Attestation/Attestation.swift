public import WebAuthnModel

/// Evidence of where a key is stored, for a server to verify: nothing in it is secret.
///
/// A server verifies, in this order: a certificate's chain, and that the certificate is for the endorsement key; that
/// the attestation key is in the same chip (``KeyAttester/activate(_:)``); the attestation key's signature over
/// ``KeyCertification/statement``; that the statement names the key of ``KeyCertification/publicArea`` and contains
/// the server's nonce; the public area's attributes; and that ``KeyCertification/policy`` yields its `authPolicy`.
public struct Attestation: Sendable, Equatable {
    /// Uncompressed X9.63, 65 bytes.
    public let publicKey: [UInt8]
    /// The chip's evidence about the key; nil for a software key, about which nothing can be proven.
    public let evidence: Evidence?

    /// The attesting identity, and its statement.
    public struct Evidence: Sendable, Equatable {
        /// The chip that attests the key.
        public let identity: AttestationIdentity
        /// The signed statement about the key.
        public let certification: KeyCertification

        /// Combines both.
        public init(identity: AttestationIdentity, certification: KeyCertification) {
            self.identity = identity
            self.certification = certification
        }
    }

    /// Describes a key.
    public init(publicKey: [UInt8], evidence: Evidence?) {
        self.publicKey = publicKey
        self.evidence = evidence
    }

    /// The attestation's level before any of it was verified.
    public var level: AttestationLevel { evidence?.identity.level ?? .software }
}

/// The most that an attestation can prove.
public enum AttestationLevel: String, Sendable, CaseIterable {
    /// The chip's maker certified its endorsement key.
    case ekCertificate = "ekCertificate"
    /// The endorsement key is not certified: a server that sees it first can only recognise it later.
    case firstUse = "firstUse"
    /// The key is not in a chip.
    case software = "software"
}

/// A chip and its attestation key.
public struct AttestationIdentity: Sendable, Equatable {
    /// The endorsement key: TPMT_PUBLIC.
    public let endorsementKey: [UInt8]
    /// Certificates of the endorsement key, each in DER; empty if the chip has none.
    public let certificates: [[UInt8]]
    /// The attestation key, P-256, which signs only structures made by the chip itself: TPMT_PUBLIC.
    public let attestationKey: [UInt8]

    /// Describes a chip.
    public init(endorsementKey: [UInt8], certificates: [[UInt8]], attestationKey: [UInt8]) {
        self.endorsementKey = endorsementKey
        self.certificates = certificates
        self.attestationKey = attestationKey
    }

    /// Whether the chip's maker certified the endorsement key.
    public var level: AttestationLevel { certificates.isEmpty ? .firstUse : .ekCertificate }
}

/// A statement of a chip about one of its keys.
public struct KeyCertification: Sendable, Equatable {
    /// The certified key: TPMT_PUBLIC, whose hash is the name in ``statement``.
    public let publicArea: [UInt8]
    /// TPMS_ATTEST of type TPM_ST_ATTEST_CERTIFY.
    public let statement: [UInt8]
    /// ECDSA with SHA-256 over ``statement`` by the attestation key: r and s, 32 bytes each.
    public let signature: [UInt8]
    /// The policy steps that yield the public area's `authPolicy`, first step first.
    public let policy: [PolicyStep]

    /// Combines a statement and the data needed to verify it.
    public init(publicArea: [UInt8], statement: [UInt8], signature: [UInt8], policy: [PolicyStep]) {
        self.publicArea = publicArea
        self.statement = statement
        self.signature = signature
        self.policy = policy
    }
}
