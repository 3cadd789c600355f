internal import Crypto
internal import SecureRandom
internal import WebAuthnModel

/// A token without meaning for clients: a prefix for people and secret scanners, its time, 32 random bytes and a checksum.
///
/// `ts_at_` + base64url of 6 bytes of time, 32 random bytes, and the first 4 bytes of their SHA-256 with the prefix. The
/// time is in milliseconds since 1970, in big-endian order; nothing but the order of the stored rows depends on it. A
/// server only stores ``digest``: 256 random bits cannot be guessed, so a plain hash is enough (ASVS 6.5.2). Tokens of earlier
/// versions have no time, and remain valid.
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
        /// Lets the owner of an account in, once, to set up a credential.
        case link = "ts_lk_"
    }

    private static let timeByteCount = 6
    private static let randomByteCount = 32
    private static let checksumByteCount = 4

    /// The purpose.
    public let kind: Kind
    /// The text for the client; a secret.
    public let text: String
    /// When it was created, as in the text; empty in tokens of earlier versions.
    private let time: [UInt8]

    /// Creates a random token.
    ///
    /// - Parameters:
    ///   - kind: its purpose.
    ///   - time: the current time, in milliseconds since 1970.
    public init(_ kind: Kind, at time: Int64) {
        self.kind = kind
        self.time = (0..<Self.timeByteCount).reversed().map { UInt8(truncatingIfNeeded: time >> ($0 * 8)) }
        let content = self.time + SecureRandom.bytes(Self.randomByteCount)
        text = kind.rawValue + Base64URL.encode(content + Self.checksum(kind, content))
    }

    /// Parses a text; nil when it is not a token of this kind, or was mistyped, which saves a database query.
    public init?(_ text: String, _ kind: Kind) {
        guard text.hasPrefix(kind.rawValue),
            let bytes = Base64URL.decode(String(text.dropFirst(kind.rawValue.count))),
            [0, Self.timeByteCount].contains(bytes.count - Self.randomByteCount - Self.checksumByteCount)
        else { return nil }
        let checksum = Self.checksum(kind, Array(bytes.dropLast(Self.checksumByteCount)))
        guard Array(bytes.suffix(Self.checksumByteCount)) == checksum else { return nil }
        self.kind = kind
        self.text = text
        time = Array(bytes.dropLast(Self.randomByteCount + Self.checksumByteCount))
    }

    private static func checksum(_ kind: Kind, _ content: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Array(kind.rawValue.utf8) + content).prefix(checksumByteCount))
    }

    /// The key under which a server stores and finds the token, 38 or 32 bytes: its time and the SHA-256 of its text.
    ///
    /// The hash is enough; with the time first, a table in the order of its keys has new tokens next to each other.
    public var digest: [UInt8] { time + SHA256.hash(data: Array(text.utf8)) }
}
