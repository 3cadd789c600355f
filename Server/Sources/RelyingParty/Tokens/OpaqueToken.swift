internal import Crypto
internal import SecureRandom
internal import WebAuthnModel

/// A token that says nothing: a prefix for people and secret scanners, 32 random bytes and a checksum.
///
/// `ts_at_` + base64url of 32 bytes and the first 4 of their SHA-256 with the prefix. A server stores
/// ``digest`` only: from 256 random bits nothing is guessed, so that a plain hash is enough (ASVS 6.5.2).
public struct OpaqueToken: Sendable, Equatable {
    /// What a token is for.
    public enum Kind: String, Sendable, CaseIterable {
        /// Opens the API for minutes.
        case access = "ts_at_"
        /// Gets new access tokens.
        case refresh = "ts_rt_"
        /// Lets the first administrator in, once.
        case bootstrap = "ts_bt_"
        /// Opens the administrators' API.
        case administration = "ts_ad_"
    }

    private static let randomByteCount = 32
    private static let checksumByteCount = 4

    /// What it is for.
    public let kind: Kind
    /// The text that a client gets; a secret.
    public let text: String

    /// Makes a new one.
    public init(_ kind: Kind) {
        self.kind = kind
        let random = SecureRandom.bytes(Self.randomByteCount)
        text = kind.rawValue + Base64URL.encode(random + Self.checksum(kind, random))
    }

    /// Reads a text; nil when it is no token of this kind, or mistyped: no database is asked then.
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

    /// What a server stores and looks tokens up by; 32 bytes.
    public var digest: [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
