internal import Crypto
public import WebAuthnModel

/// A key that signs access tokens, in the memory of one process and nowhere else.
public struct TokenSigningKey: Sendable {
    private let key: P256.Signing.PrivateKey
    /// The public half, which services verify tokens with.
    public let publicKey: TokenKey

    /// Creates a random key.
    public init() {
        key = P256.Signing.PrivateKey()
        publicKey = TokenKey(key.publicKey)
    }

    /// An access token as a JWT (RFC 9068, section 2) with these claims.
    public func token(_ claims: JSONValue) throws -> String {
        try CompactJWS.sign(
            [("typ", "at+jwt"), ("kid", .string(publicKey.id))],
            claims,
            by: key
        )
    }
}

/// An access token in the form of RFC 9068, as its text says; to be verified.
public struct SignedAccessToken {
    /// The maximum size of a token, in bytes: the scopes of an audience have up to 1 KiB.
    public static let mostBytes = 8192

    private let signature: CompactJWS
    /// The thumbprint of the key that the token names.
    public let keyID: [UInt8]

    /// Parses a text; nil: it is no such token.
    public init?(_ text: String) {
        guard let signature = CompactJWS(text, mostBytes: Self.mostBytes),
            signature.header["typ"]?.string == "at+jwt", signature.header["alg"]?.string == "ES256",
            signature.header["crit"] == nil, let keyID = signature.header["kid"]?.bytes
        else { return nil }
        self.signature = signature
        self.keyID = keyID
    }

    /// The token's identifier (`jti`), if the key that it names made its signature.
    public func identifier(verifiedBy key: TokenKey) -> [UInt8]? {
        guard key.thumbprint == keyID, signature.isSigned(by: key.key) else { return nil }
        return signature.payload["jti"]?.bytes
    }
}
