public import WebAuthnModel

/// A relying party's registration options: the members of `PublicKeyCredentialCreationOptionsJSON` that a device uses
/// (WebAuthn Level 3, section 5.1.8).
public struct CreationOptions: Sendable, Equatable {
    /// The RP ID.
    public let relyingParty: String
    /// The account's user handle.
    public let userHandle: [UInt8]
    /// The challenge, which the client data contain.
    public let challenge: [UInt8]
    /// Whether ES256 is accepted.
    public let acceptsES256: Bool
    /// The credentials that the account already has.
    public let excluded: [[UInt8]]
    /// Whether the relying party requests an attestation; if not, it gets only the key.
    public let wantsAttestation: Bool

    /// Parses the member `publicKey` of a server's reply.
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

/// A relying party's login options: the members of `PublicKeyCredentialRequestOptionsJSON` that a device uses
/// (WebAuthn Level 3, section 5.1.9).
public struct RequestOptions: Sendable, Equatable {
    /// The RP ID.
    public let relyingParty: String
    /// The challenge, which the client data contain.
    public let challenge: [UInt8]
    /// The credentials that are accepted; empty: any.
    public let allowed: [[UInt8]]

    /// Parses the member `publicKey` of a server's reply.
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
