public import WebAuthnModel

/// Who verifies: what a ceremony's answer is compared with.
///
/// Holds settings only, and neither challenges nor credentials: both belong to the server's store. All it does is
/// computing, so that any server can use it.
public struct RelyingParty: Sendable {
    /// The RP ID: a domain name (WebAuthn Level 3, section 5.1.2).
    public var id: String
    /// Origins that are accepted, compared byte for byte: `https://example.org`, `android:apk-key-hash:…`,
    /// `linux:app-id:org.example.app`.
    public var origins: [String]
    /// Pages in whose frames the relying party may be used; empty: in none, and a ceremony from a frame is refused.
    public var topOrigins: [String]
    /// The algorithms that a credential may have, the preferred one first.
    public var algorithms: [COSEAlgorithm]
    /// What an attestation has to show.
    public var attestation: AttestationPolicy
    /// Rules of its own for new credentials, each with its reason; none by default.
    public var rules: [any RegistrationRule]
    /// What happens where a known credential changes whether it may be backed up.
    public var backupEligibilityChange: BackupEligibilityChange

    /// What happens where a known credential changes whether it may be backed up.
    public enum BackupEligibilityChange: Sendable {
        /// Refused.
        case refused
        /// Accepted and reported, except where a chip vouched for the key: some synchronised credentials do change.
        case acceptedWithoutAttestation
    }

    /// Describes a relying party.
    ///
    /// - Parameters:
    ///   - id: the RP ID, a domain name.
    ///   - origins: accepted origins, compared byte for byte.
    ///   - topOrigins: pages in whose frames it may be used.
    ///   - algorithms: what a credential may sign with, the preferred one first.
    ///   - attestation: what an attestation has to show.
    ///   - rules: rules of its own for new credentials.
    ///   - backupEligibilityChange: what happens where a known credential changes whether it may be backed up.
    public init(
        id: String,
        origins: [String],
        topOrigins: [String] = [],
        algorithms: [COSEAlgorithm] = [.es256, .edDSA, .es384, .es512, .rs256],
        attestation: AttestationPolicy = AttestationPolicy(),
        rules: [any RegistrationRule] = [],
        backupEligibilityChange: BackupEligibilityChange = .acceptedWithoutAttestation
    ) {
        self.id = id
        self.origins = origins
        self.topOrigins = topOrigins
        self.algorithms = algorithms
        self.attestation = attestation
        self.rules = rules
        self.backupEligibilityChange = backupEligibilityChange
    }
}

/// Whether somebody has to be verified (WebAuthn Level 3, section 5.8.6).
public enum UserVerificationRequirement: String, Sendable {
    /// The ceremony fails without.
    case required
    /// Wanted where it is possible.
    case preferred
    /// Not wanted.
    case discouraged
}
