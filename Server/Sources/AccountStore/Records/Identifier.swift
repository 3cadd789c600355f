internal import SecureRandom

/// An identifier as bytes; identifiers of different subjects are different types.
public struct Identifier<Subject>: Hashable, Sendable {
    /// The bytes, as stored and sent.
    public let bytes: [UInt8]

    /// Creates an identifier from its bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Creates a random identifier: 16 bytes for look-ups, 32 if guessing it would be an attack.
    public static func random(byteCount: Int = 16) -> Self {
        Self(SecureRandom.bytes(byteCount))
    }
}

/// An account's id, which is its WebAuthn user handle: 32 random bytes, never its name.
///
/// It is the key by which rows are distributed over machines.
public typealias AccountID = Identifier<Account>
/// A credential's id, chosen by the authenticator; at most 1023 bytes, unique among all accounts.
public typealias CredentialID = Identifier<Credential>
/// The id of an attested key that is no credential: the SHA-256 of its public key.
public typealias AttestedKeyID = Identifier<AttestedKey>
/// A session's id.
public typealias SessionID = Identifier<Session>
/// A ceremony's id.
public typealias CeremonyID = Identifier<Ceremony>
/// The id of an activation of the attestation CA.
public typealias ActivationID = Identifier<Activation>
/// A transaction's id.
public typealias TransactionID = Identifier<Transaction>

/// The look-up key of a token: the time of its creation and the SHA-256 of its text; a store never sees a token.
public struct TokenDigest: Hashable, Sendable {
    private static let hashByteCount = 32

    /// 38 bytes: milliseconds since 1970 in big-endian order, and the hash; the hash alone for tokens of earlier versions.
    public let bytes: [UInt8]
    /// The hash alone, 32 bytes.
    package var hash: [UInt8] { Array(bytes.suffix(Self.hashByteCount)) }

    /// Creates a digest from its bytes.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
