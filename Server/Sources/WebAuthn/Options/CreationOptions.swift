public import WebAuthnModel

/// What a client is asked for at registration: `PublicKeyCredentialCreationOptionsJSON` (WebAuthn Level 3, section 5.1.8).
///
/// Encode it with any `JSONEncoder`; bytes become base64url.
public struct PublicKeyCredentialCreationOptions: Sendable, Equatable, Encodable {
    /// The relying party.
    public var rp: RelyingPartyEntity
    /// The account.
    public var user: UserEntity
    /// At least 16 bytes that nobody can guess; 32 here.
    public var challenge: Base64URLBytes
    /// The algorithms that are accepted, the preferred one first.
    public var pubKeyCredParams: [PublicKeyCredentialParameters]
    /// How long the client may take, in milliseconds.
    public var timeout: Int
    /// Credentials that the account has already.
    public var excludeCredentials: [PublicKeyCredentialDescriptor]
    /// What the authenticator has to be.
    public var authenticatorSelection: AuthenticatorSelectionCriteria
    /// `none`, `indirect`, `direct` or `enterprise`.
    public var attestation: String

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - rp: the relying party.
    ///   - user: the account.
    ///   - challenge: bytes that nobody can guess.
    ///   - algorithms: what is accepted, the preferred one first.
    ///   - timeout: how long the client may take.
    ///   - excludeCredentials: credentials that the account has already.
    ///   - authenticatorSelection: what the authenticator has to be.
    ///   - attestation: whether an attestation is wanted: `none` or `direct`.
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

/// What a client is asked for at a login: `PublicKeyCredentialRequestOptionsJSON` (WebAuthn Level 3, section 5.1.9).
public struct PublicKeyCredentialRequestOptions: Sendable, Equatable, Encodable {
    /// At least 16 bytes that nobody can guess; 32 here.
    public var challenge: Base64URLBytes
    /// How long the client may take, in milliseconds.
    public var timeout: Int
    /// The RP ID.
    public var rpId: String
    /// The credentials that may answer; empty: any of the relying party's.
    public var allowCredentials: [PublicKeyCredentialDescriptor]
    /// Whether somebody has to be verified.
    public var userVerification: String

    /// Describes a request.
    ///
    /// - Parameters:
    ///   - challenge: bytes that nobody can guess.
    ///   - timeout: how long the client may take.
    ///   - rpId: the RP ID.
    ///   - allowCredentials: the credentials that may answer; empty: any.
    ///   - userVerification: whether somebody has to be verified.
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

/// Bytes that are base64url without padding in JSON.
public struct Base64URLBytes: Sendable, Equatable, Encodable {
    /// The bytes.
    public let bytes: [UInt8]

    /// Takes bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Writes the text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Base64URL.encode(bytes))
    }
}
