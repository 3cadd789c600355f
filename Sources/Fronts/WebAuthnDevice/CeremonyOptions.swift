public import WebAuthnModel

/// What a relying party asks for at registration: the members of `PublicKeyCredentialCreationOptionsJSON` that a device uses
/// (WebAuthn Level 3, section 5.1.8).
public struct CreationOptions: Sendable, Equatable {
    /// The RP ID.
    public let relyingParty: String
    /// The account's user handle.
    public let userHandle: [UInt8]
    /// What the client data carry.
    public let challenge: [UInt8]
    /// Whether ES256 is accepted.
    public let acceptsES256: Bool
    /// Credentials that the account has already.
    public let excluded: [[UInt8]]
    /// Whether an attestation is wanted; without, the relying party only sees the key.
    public let wantsAttestation: Bool

    /// Reads `publicKey` of a server's answer.
    ///
    /// - Throws: ``DeviceError/options(_:)``.
    public init(parsing json: JSONValue) throws(DeviceError) {
        let members = try OptionMembers(json)
        guard let id = members["rp"]?.object?["id"]?.string else { throw .options("rp.id") }
        guard let user = members["user"]?.object?["id"]?.bytes, (1...64).contains(user.count) else {
            throw .options("user.id")
        }
        guard let parameters = members["pubKeyCredParams"]?.array else { throw .options("pubKeyCredParams") }
        relyingParty = id
        userHandle = user
        challenge = try members.challenge
        acceptsES256 = parameters.contains { $0.object?["alg"]?.integer == COSEAlgorithm.es256.rawValue }
        excluded = try members.credentials("excludeCredentials")
        wantsAttestation = (members["attestation"]?.string ?? "none") != "none"
    }
}

/// What a relying party asks for at a login: the members of `PublicKeyCredentialRequestOptionsJSON` that a device uses
/// (WebAuthn Level 3, section 5.1.9).
public struct RequestOptions: Sendable, Equatable {
    /// The RP ID.
    public let relyingParty: String
    /// What the client data carry.
    public let challenge: [UInt8]
    /// The credentials that may answer; empty: any.
    public let allowed: [[UInt8]]

    /// Reads `publicKey` of a server's answer.
    ///
    /// - Throws: ``DeviceError/options(_:)``.
    public init(parsing json: JSONValue) throws(DeviceError) {
        let members = try OptionMembers(json)
        guard let id = members["rpId"]?.string else { throw .options("rpId") }
        relyingParty = id
        challenge = try members.challenge
        allowed = try members.credentials("allowCredentials")
    }
}

private struct OptionMembers {
    private let object: JSONObject

    init(_ json: JSONValue) throws(DeviceError) {
        guard let object = json.object else { throw .options("publicKey") }
        self.object = object
    }

    subscript(name: String) -> JSONValue? { object[name] }

    /// At least 16 bytes (Level 3, section 13.4.3).
    var challenge: [UInt8] {
        get throws(DeviceError) {
            guard let challenge = object["challenge"]?.bytes, challenge.count >= 16 else {
                throw .options("challenge")
            }
            return challenge
        }
    }

    func credentials(_ name: String) throws(DeviceError) -> [[UInt8]] {
        guard let value = object[name] else { return [] }
        guard let descriptors = value.array else { throw .options(name) }
        let ids = descriptors.compactMap { $0.object?["id"]?.bytes }
        guard ids.count == descriptors.count else { throw .options(name) }
        return ids
    }
}
