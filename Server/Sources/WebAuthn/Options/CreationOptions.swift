public import WebAuthnModel

/// The options of a registration: `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3, section 5.1.8).
///
/// Encode it with any `JSONEncoder`; bytes become base64url.
public struct PublicKeyCredentialCreationOptions: Sendable, Equatable, Encodable {
    /// The relying party.
    public var rp: RelyingPartyEntity
    /// The account.
    public var user: UserEntity
    /// At least 16 random bytes; 32 here.
    public var challenge: Base64URLBytes
    /// The accepted algorithms, in order of preference.
    public var pubKeyCredParams: [PublicKeyCredentialParameters]
    /// The client's time limit, in milliseconds.
    public var timeout: Int
    /// The credentials that the account already has.
    public var excludeCredentials: [PublicKeyCredentialDescriptor]
    /// The requirements for the authenticator.
    public var authenticatorSelection: AuthenticatorSelectionCriteria
    /// `none`, `indirect`, `direct` or `enterprise`.
    public var attestation: String

    /// Creates options.
    ///
    /// - Parameters:
    ///   - rp: the relying party.
    ///   - user: the account.
    ///   - challenge: random bytes.
    ///   - algorithms: the accepted algorithms, in order of preference.
    ///   - timeout: the client's time limit.
    ///   - excludeCredentials: the credentials that the account already has.
    ///   - authenticatorSelection: the requirements for the authenticator.
    ///   - attestation: whether an attestation is requested: `none` or `direct`.
    public init(
        rp: RelyingPartyEntity,
        user: UserEntity,
        challenge: [UInt8],
        algorithms: [COSEAlgorithm],
        timeout: Duration = .seconds(300),
        excludeCredentials: [PublicKeyCredentialDescriptor] = [],
        authenticatorSelection: AuthenticatorSelectionCriteria = AuthenticatorSelectionCriteria(),
        attestation: String = "none"
    ) {
        self.rp = rp
        self.user = user
        self.challenge = Base64URLBytes(challenge)
        pubKeyCredParams = algorithms.map { PublicKeyCredentialParameters(alg: $0.rawValue) }
        self.timeout = Int(timeout.components.seconds) * 1000
        self.excludeCredentials = excludeCredentials
        self.authenticatorSelection = authenticatorSelection
        self.attestation = attestation
    }
}

/// The options of a login: `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3, section 5.1.9).
public struct PublicKeyCredentialRequestOptions: Sendable, Equatable, Encodable {
    /// At least 16 random bytes; 32 here.
    public var challenge: Base64URLBytes
    /// The client's time limit, in milliseconds.
    public var timeout: Int
    /// The RP ID.
    public var rpId: String
    /// The allowed credentials; empty: any of the relying party's.
    public var allowCredentials: [PublicKeyCredentialDescriptor]
    /// Whether user verification is required.
    public var userVerification: String

    /// Creates options.
    ///
    /// - Parameters:
    ///   - challenge: random bytes.
    ///   - timeout: the client's time limit.
    ///   - rpId: the RP ID.
    ///   - allowCredentials: the allowed credentials; empty: any.
    ///   - userVerification: whether user verification is required.
    public init(
        challenge: [UInt8],
        timeout: Duration = .seconds(300),
        rpId: String,
        allowCredentials: [PublicKeyCredentialDescriptor] = [],
        userVerification: UserVerificationRequirement = .required
    ) {
        self.challenge = Base64URLBytes(challenge)
        self.timeout = Int(timeout.components.seconds) * 1000
        self.rpId = rpId
        self.allowCredentials = allowCredentials
        self.userVerification = userVerification.rawValue
    }
}

/// Bytes that are encoded as base64url without padding in JSON.
public struct Base64URLBytes: Sendable, Equatable, Encodable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Wraps bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Encodes the base64url text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(bytes))
    }
}
