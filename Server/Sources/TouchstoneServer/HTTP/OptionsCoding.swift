internal import AccountStore
internal import Foundation
internal import WebAuthn
internal import WebAuthnModel

extension JSONValue {
    /// Converts an encodable value to JSON.
    init(encoding value: some Encodable) throws {
        self = try JSONValue(parsing: Array(try JSONEncoder().encode(value)))
    }
}

extension PublicKeyCredentialRequestOptions {
    /// The encoder's result, built directly because every login begins with it.
    var json: JSONValue {
        [
            "allowCredentials": .array(
                allowCredentials.map { credential in
                    [
                        "id": JSONValue(base64URL: credential.id.bytes),
                        "transports": .array(credential.transports.map { .string($0) }),
                        "type": .string(credential.type),
                    ]
                }
            ),
            "challenge": JSONValue(base64URL: challenge.bytes), "rpId": .string(rpId),
            "timeout": .integer(Int64(timeout)), "userVerification": .string(userVerification),
        ]
    }
}

/// The parts of issued options, stored as text, that the server needs.
struct KeptOptions {
    let challenge: [UInt8]
    let credentials: [[UInt8]]
    /// The thumbprint of the key of the session that began a reauthentication; nil: it has none.
    let sessionKey: [UInt8]?

    /// The key for the failures of the name that the ceremony began with; nil: it began without.
    let name: String?

    private static let sessionKeyMember = "sessionKey"
    private static let nameMember = "name"

    /// The options to keep: those sent, and what the end of the ceremony needs to know of its beginning.
    static func kept(_ publicKey: JSONValue, for session: Session? = nil, name: String? = nil) -> JSONValue {
        guard session?.thumbprint != nil || name != nil else { return publicKey }
        var members = publicKey.object?.members ?? []
        if let key = session?.thumbprint { members.append((sessionKeyMember, JSONValue(base64URL: key))) }
        if let name { members.append((nameMember, .string(name))) }
        return .object(JSONObject(members))
    }

    /// Parses the options of a login; nil when they are damaged.
    init?(_ publicKey: JSONValue?) {
        guard let members = publicKey?.object, let challenge = members["challenge"]?.bytes else { return nil }
        self.challenge = challenge
        name = members[Self.nameMember]?.string
        sessionKey = members[Self.sessionKeyMember]?.bytes
        credentials = (members["allowCredentials"]?.array ?? []).compactMap { $0.object?["id"]?.bytes }
    }
}
