internal import Crypto
internal import Foundation
internal import WebAuthnModel

/// A JSON Web Signature in its compact form (RFC 7515, section 7.1), with ES256.
struct CompactJWS {
    let header: JSONObject
    let payload: JSONObject
    private let signature: P256.Signing.ECDSASignature
    private let signed: [UInt8]

    /// Parses a text without judging it; nil: it has another form.
    init?(_ text: String, mostBytes: Int) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= mostBytes, parts.count == 3,
            let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
            let bytes = Base64URL.decode(parts[2]), bytes.count == 64,
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        else { return nil }
        self.header = header
        self.payload = payload
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    /// Whether a key made the signature.
    func isSigned(by key: P256.Signing.PublicKey) -> Bool { key.isValidSignature(signature, for: signed) }

    /// The compact form of a payload that a key signs; `header` is without `alg`.
    static func sign(
        _ header: [(name: String, value: JSONValue)],
        _ payload: JSONValue,
        by key: P256.Signing.PrivateKey
    ) throws -> String {
        let header = JSONValue.object(JSONObject([("alg", "ES256")] + header))
        let parts = [header, payload].map { Base64URL.encode($0.json) }
        let text = parts.joined(separator: ".")
        let signature = try key.signature(for: Array(text.utf8))
        return "\(text).\(Base64URL.encode(Array(signature.rawRepresentation)))"
    }

    private static func object(_ part: String) -> JSONObject? {
        guard let bytes = Base64URL.decode(part) else { return nil }
        return (try? JSONValue(parsing: bytes))?.object
    }
}
