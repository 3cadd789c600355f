internal import Crypto
internal import SecureRandom
internal import WebAuthnModel

/// A token without meaning of its own: a prefix for people and secret scanners, 32 random bytes and a checksum.
///
/// `ts_at_` + base64url of 32 bytes and the first 4 bytes of their SHA-256 with the prefix. A server only stores
/// ``digest``: 256 random bits cannot be guessed, so a plain hash is enough (ASVS 6.5.2).
public struct OpaqueToken: Sendable, Equatable {
    /// The purpose of a token.
    public enum Kind: String, Sendable, CaseIterable {
        /// Grants access to the API for minutes.
        case access = "ts_at_"
        /// Gets new access tokens.
        case refresh = "ts_rt_"
        /// Lets the first administrator sign in, once.
        case bootstrap = "ts_bt_"
        /// Grants access to the administrators' API.
        case administration = "ts_ad_"
    }

    private static let randomByteCount = 32
    private static let checksumByteCount = 4

    /// The purpose.
    public let kind: Kind
    /// The text for the client; a secret.
    public let text: String

    /// Creates a random token.
    public init(_ kind: Kind) {
        self.kind = kind
        let random = SecureRandom.bytes(Self.randomByteCount)
        text = kind.rawValue + Base64URL.encode(random + Self.checksum(kind, random))
    }

    /// Parses a text; nil when it is not a token of this kind, or was mistyped, which saves a database query.
    public init?(_ text: String, _ kind: Kind) {
        guard text.hasPrefix(kind.rawValue),
            let bytes = Base64URL.decode(String(text.dropFirst(kind.rawValue.count))),
            bytes.count == Self.randomByteCount + Self.checksumByteCount
        else { return nil }
        let checksum = Self.checksum(kind, Array(bytes.prefix(Self.randomByteCount)))
        guard Array(bytes.suffix(Self.checksumByteCount)) == checksum else { return nil }
        self.kind = kind
        self.text = text
    }

    private static func checksum(_ kind: Kind, _ random: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array(kind.rawValue.utf8) + random).prefix(checksumByteCount))
    }

    /// The key under which a server stores and finds the token; 32 bytes.
    public var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
