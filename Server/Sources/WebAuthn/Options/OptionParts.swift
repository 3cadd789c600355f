internal import WebAuthnModel

/// `PublicKeyCredentialRpEntity`.
public struct RelyingPartyEntity: Sendable, Equatable, Encodable {
    /// The RP ID.
    public var id: String
    /// For people.
    public var name: String

    /// Describes a relying party.
    public init(id: String, name: String) {
        self.id = id
        self.name = name
    }
}

/// `PublicKeyCredentialUserEntityJSON`.
public struct UserEntity: Sendable, Equatable, Encodable {
    /// The user handle: 1 to 64 bytes that say nothing about the person (Level 3, section 14.6.1).
    public var id: Base64URLBytes
    /// The account's name, for people.
    public var name: String
    /// The person's name, for people.
    public var displayName: String

    /// Describes an account.
    public init(id: [UInt8], name: String, displayName: String) {
        self.id = Base64URLBytes(id)
        self.name = name
        self.displayName = displayName
    }
}

/// `PublicKeyCredentialParameters`.
public struct PublicKeyCredentialParameters: Sendable, Equatable, Encodable {
    /// Always `public-key`.
    public let type = "public-key"
    /// The algorithm's number in IANA's registry.
    public let alg: Int64

    private enum CodingKeys: String, CodingKey {
        case type
        case alg
    }
}

/// `PublicKeyCredentialDescriptorJSON`.
public struct PublicKeyCredentialDescriptor: Sendable, Equatable, Encodable {
    /// Always `public-key`.
    public let type = "public-key"
    /// The credential's id.
    public let id: Base64URLBytes
    /// How the authenticator can be reached.
    public let transports: [String]

    /// Names a credential.
    public init(id: [UInt8], transports: [String] = []) {
        self.id = Base64URLBytes(id)
        self.transports = transports
    }

    private enum CodingKeys: String, CodingKey {
        case type
        case id
        case transports
    }
}

/// `AuthenticatorSelectionCriteria`.
public struct AuthenticatorSelectionCriteria: Sendable, Equatable, Encodable {
    /// `platform` or `cross-platform`; nil: either.
    public var authenticatorAttachment: String?
    /// `required`, `preferred` or `discouraged`: whether the credential is found without its id.
    public var residentKey: String
    /// For clients of Level 1: whether `residentKey` is `required`.
    public var requireResidentKey: Bool
    /// Whether somebody has to be verified.
    public var userVerification: String

    /// Describes an authenticator.
    ///
    /// - Parameters:
    ///   - authenticatorAttachment: `platform` or `cross-platform`; nil: either.
    ///   - residentKey: `required`, `preferred` or `discouraged`.
    ///   - userVerification: whether somebody has to be verified.
    public init(
        authenticatorAttachment: String? = nil,
        residentKey: String = "preferred",
        userVerification: UserVerificationRequirement = .required
    ) {
        self.authenticatorAttachment = authenticatorAttachment
        self.residentKey = residentKey
        requireResidentKey = residentKey == "required"
        self.userVerification = userVerification.rawValue
    }
}
