public import WebAuthnModel

/// A relying party, which verifies the responses of ceremonies.
///
/// It contains settings only, neither challenges nor credentials: both belong to the server's store. Its methods only
/// compute, so that any server can use it.
public struct RelyingParty: Sendable {
    /// The RP ID: a domain name (WebAuthn Level 3, section 5.1.2).
    public var id: String
    /// Accepted origins, compared byte for byte: `https://example.org`, `android:apk-key-hash:…`,
    /// `linux:app-id:org.example.app`.
    public var origins: [String]
    /// Origins of pages in whose frames it may be used; empty: none, and a ceremony in a frame is refused.
    public var topOrigins: [String]
    /// The accepted algorithms of a credential, in order of preference.
    public var algorithms: [COSEAlgorithm]
    /// The requirements for attestations.
    public var attestation: AttestationPolicy
    /// Additional rules for new credentials, each with its reason; none by default.
    public var rules: [any RegistrationRule]
    /// How to handle a change of a known credential's backup eligibility.
    public var backupEligibilityChange: BackupEligibilityChange

    /// How to handle a change of a known credential's backup eligibility.
    public enum BackupEligibilityChange: Sendable {
        /// Refused.
        case refused
        /// Accepted and reported, unless a chip attested the key: some synchronised credentials do change.
        case acceptedWithoutAttestation
    }

    /// Who compares a credential's signature counter with the stored one (section 7.2, step 22).
    public var signCounter: SignCounterCheck = .mustGrow

    /// Who compares a credential's signature counter.
    public enum SignCounterCheck: Sendable {
        /// The verification: a counter that did not grow is refused.
        case mustGrow
        /// The caller, for example in the transaction that stores the new counter.
        case comparedByCaller
    }

    /// Creates a relying party.
    ///
    /// - Parameters:
    ///   - id: the RP ID, a domain name.
    ///   - origins: accepted origins, compared byte for byte.
    ///   - topOrigins: origins of pages in whose frames it may be used.
    ///   - algorithms: the accepted algorithms of a credential, in order of preference.
    ///   - attestation: the requirements for attestations.
    ///   - rules: additional rules for new credentials.
    ///   - backupEligibilityChange: how to handle a change of a known credential's backup eligibility.
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

/// The requirement of user verification (WebAuthn Level 3, section 5.8.6).
public enum UserVerificationRequirement: String, Sendable {
    /// The ceremony fails without it.
    case required
    /// Verify the user if possible.
    case preferred
    /// Do not verify the user.
    case discouraged
}
