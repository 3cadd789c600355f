public import WebAuthnModel

/// What is known of where a key lives, for a server to check: nothing in it is secret.
///
/// A server checks, in this order: the chain of a certificate, and that it names the endorsement key;
/// that the attestation key answered for it (``KeyAttester/activate(_:)``); the attestation key's signature over
/// ``KeyCertification/statement``; that the statement names the key of ``KeyCertification/publicArea`` and
/// carries its nonce; the public area's attributes; and that ``KeyCertification/policy`` gives its `authPolicy`.
public struct Attestation: Sendable, Equatable {
    /// Uncompressed X9.63, 65 bytes.
    public let publicKey: [UInt8]
    /// What a chip says of the key; nil for a key of software, of which nothing can be proven.
    public let evidence: Evidence?

    /// Who vouches, and for what.
    public struct Evidence: Sendable, Equatable {
        /// Who vouches.
        public let identity: AttestationIdentity
        /// The signed statement about the key.
        public let certification: KeyCertification

        /// Holds both.
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

    /// How much the attestation is worth before anything in it was checked.
    public var level: AttestationLevel { evidence?.identity.level ?? .software }
}

/// What an attestation can prove, at best.
public enum AttestationLevel: String, Sendable, CaseIterable {
    /// The chip's maker certified its endorsement key.
    case ekCertificate
    /// Nobody certified the endorsement key: who meets it first can only know it again.
    case firstUse
    /// There is no chip.
    case software
}

/// A chip, and the attestation key that speaks for it.
public struct AttestationIdentity: Sendable, Equatable {
    /// The endorsement key: TPMT_PUBLIC.
    public let endorsementKey: [UInt8]
    /// Certificates of the endorsement key, each in DER; empty when the chip has none.
    public let certificates: [[UInt8]]
    /// The attestation key, P-256, which signs only what the chip itself made: TPMT_PUBLIC.
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
    /// The key: TPMT_PUBLIC, whose hash is the name in ``statement``.
    public let publicArea: [UInt8]
    /// TPMS_ATTEST of type TPM_ST_ATTEST_CERTIFY.
    public let statement: [UInt8]
    /// ECDSA with SHA-256 over ``statement`` by the attestation key: r and s, 32 bytes each.
    public let signature: [UInt8]
    /// What led to the public area's `authPolicy`, first step first.
    public let policy: [PolicyStep]

    /// Holds a statement and what is needed to check it.
    public init(publicArea: [UInt8], statement: [UInt8], signature: [UInt8], policy: [PolicyStep]) {
        self.publicArea = publicArea
        self.statement = statement
        self.signature = signature
        self.policy = policy
    }
}
