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

    /// Parses the options of a login; nil when they are damaged.
    init?(_ publicKey: JSONValue?) {
        guard let members = publicKey?.object, let challenge = members["challenge"]?.bytes else { return nil }
        self.challenge = challenge
        credentials = (members["allowCredentials"]?.array ?? []).compactMap { $0.object?["id"]?.bytes }
    }
}
