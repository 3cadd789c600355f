internal import Crypto
public import WebAuthnModel

/// The public half of a key of P-256 that signs access tokens or proofs.
public struct TokenKey: Sendable, Equatable {
    /// The coordinates, 32 bytes each.
    public let rawRepresentation: [UInt8]
    let key: P256.Signing.PublicKey

    /// Creates a key of its coordinates; nil: it is not a point of the curve.
    public init?(rawRepresentation: [UInt8]) {
        guard rawRepresentation.count == 64,
            let key = try? P256.Signing.PublicKey(rawRepresentation: rawRepresentation)
        else { return nil }
        self.rawRepresentation = rawRepresentation
        self.key = key
    }

    init(_ key: P256.Signing.PublicKey) {
        self.key = key
        rawRepresentation = Array(key.rawRepresentation)
    }

    /// Whether two keys are the same point.
    public static func == (left: Self, right: Self) -> Bool {
        left.rawRepresentation == right.rawRepresentation
    }

    /// The thumbprint (RFC 7638), 32 bytes: of the required members in the order of their names.
    public var thumbprint: [UInt8] {
        let canonical = #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        return Array(SHA256.hash(data: Array(canonical.utf8)))
    }

    /// The `kid` of its tokens: the thumbprint.
    public var id: String { Base64URL.encode(thumbprint) }

    /// The key as services read it (RFC 7517, section 4; RFC 7518, section 6.2.1).
    public var jwk: JSONValue {
        [
            "kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y), "use": "sig", "alg": "ES256",
            "kid": .string(id),
        ]
    }

    private var x: String { Base64URL.encode(Array(rawRepresentation.prefix(32))) }
    private var y: String { Base64URL.encode(Array(rawRepresentation.suffix(32))) }
}
