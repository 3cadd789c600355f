internal import Foundation
internal import WebAuthn
internal import WebAuthnModel

extension JSONValue {
    /// The value that an encoder makes.
    init(encoding value: some Encodable) throws {
        self = try JSONValue(parsing: Array(try JSONEncoder().encode(value)))
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
