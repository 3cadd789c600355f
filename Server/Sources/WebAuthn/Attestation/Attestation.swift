public import X509

/// The verified attestation of a credential's key.
public struct Attestation: Sendable {
    /// The format's registered name, such as `packed`.
    public let format: String
    /// The type of attestation (WebAuthn Level 3, section 6.5.3).
    public let type: AttestationType
    /// The certificates as received, the attestation certificate first; empty if there are none.
    public let trustPath: [Certificate]
    /// Whether the certificates chain to a trust anchor.
    public let isTrusted: Bool
    /// A TPM's statements about the key; nil in other formats.
    public let tpm: TPMEvidence?

    /// Whether a trusted attestation proves that the key cannot leave its chip.
    public var isHardwareBound: Bool { isTrusted && type != .none && type != .selfAttestation }
}

/// Kinds of attestation (WebAuthn Level 3, section 6.5.3).
public enum AttestationType: String, Sendable {
    /// No attestation.
    case none
    /// The credential's own key signs: proves possession, nothing more.
    case selfAttestation = "self"
    /// Signed by a key of the model, or of a batch of it. The statement alone cannot distinguish it from an attestation
    /// CA.
    case basic
    /// Signed by a key that a CA certified for a chip that it knows.
    case attestationCA = "attca"
}

/// A verified statement, before its trust path is judged.
struct VerifiedStatement {
    let format: String
    let type: AttestationType
    var trustPath: [Certificate] = []
    var tpm: TPMEvidence?
}
