internal import WebAuthnModel

/// `PublicKeyCredentialRpEntity`.
public struct RelyingPartyEntity: Sendable, Equatable, Encodable {
    /// The RP ID.
    public var id: String
    /// The display name.
    public var name: String

    /// Creates an entity.
    public init(id: String, name: String) {
        self.id = id
        self.name = name
    }
}

/// `PublicKeyCredentialUserEntityJSON`.
public struct UserEntity: Sendable, Equatable, Encodable {
    /// The user handle: 1 to 64 bytes without personal information (Level 3, section 14.6.1).
    public var id: Base64URLBytes
    /// The account's name, for display.
    public var name: String
    /// The user's name, for display.
    public var displayName: String

    /// Creates an entity.
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
    /// The authenticator's transports.
    public let transports: [String]

    /// Creates a descriptor.
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
    /// `required`, `preferred` or `discouraged`: whether the credential must be discoverable.
    public var residentKey: String
    /// For clients of Level 1: whether `residentKey` is `required`.
    public var requireResidentKey: Bool
    /// Whether user verification is required.
    public var userVerification: String

    /// Creates criteria.
    ///
    /// - Parameters:
    ///   - authenticatorAttachment: `platform` or `cross-platform`; nil: either.
    ///   - residentKey: `required`, `preferred` or `discouraged`.
    ///   - userVerification: whether user verification is required.
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
