internal import Foundation
internal import WebAuthn
internal import WebAuthnModel

extension JSONValue {
    /// The value that an encoder makes.
    init(encoding value: some Encodable) throws {
        self = try JSONValue(parsing: Array(try JSONEncoder().encode(value)))
    }
}

extension PublicKeyCredentialRequestOptions {
    /// What an encoder makes of it, made member by member: every login begins with one.
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

/// What a server needs of options that it gave out, and kept as text.
struct KeptOptions {
    let challenge: [UInt8]
    let credentials: [[UInt8]]

    /// Reads options of a login; nil when they are damaged.
    init?(_ publicKey: JSONValue?) {
        guard let members = publicKey?.object, let challenge = members["challenge"]?.bytes else { return nil }
        self.challenge = challenge
        credentials = (members["allowCredentials"]?.array ?? []).compactMap { $0.object?["id"]?.bytes }
    }
}
