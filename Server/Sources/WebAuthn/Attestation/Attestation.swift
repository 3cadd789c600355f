public import X509

/// Who vouches for a credential's key, and how far it was checked.
public struct Attestation: Sendable {
    /// The format's registered name, such as `packed`.
    public let format: String
    /// What kind of voucher it is (WebAuthn Level 3, section 6.5.3).
    public let type: AttestationType
    /// The certificates as they came, the attestation certificate first; empty without.
    public let trustPath: [Certificate]
    /// Whether the certificates lead to one that is trusted.
    public let isTrusted: Bool
    /// What a TPM says of the key; nil in other formats.
    public let tpm: TPMEvidence?

    /// Whether somebody who is trusted says that the key cannot leave its chip.
    public var isHardwareBound: Bool { isTrusted && type != .none && type != .selfAttestation }
}

/// Kinds of attestation (WebAuthn Level 3, section 6.5.3).
public enum AttestationType: String, Sendable {
    /// Nobody vouches.
    case none
    /// The credential's own key signs: proves possession, nothing more.
    case selfAttestation = "self"
    /// A key of the model, or of a batch of it, signs. From the statement alone it cannot be told from an attestation CA.
    case basic
    /// A CA that knows the chip certified the key that signs.
    case attestationCA = "attca"
}

/// What a verified statement says, before anybody judged whom it leads to.
struct VerifiedStatement {
    let format: String
    let type: AttestationType
    var trustPath: [Certificate] = []
    var tpm: TPMEvidence?
}
