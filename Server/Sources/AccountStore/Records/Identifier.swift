internal import SecureRandom

/// The name of one thing, as bytes; identifiers of different subjects do not mix.
public struct Identifier<Subject>: Hashable, Sendable {
    /// The bytes, as they are stored and sent.
    public let bytes: [UInt8]

    /// Takes bytes as they are.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Makes a new one of random bytes: 16 for what is looked up, 32 for what somebody could gain by guessing.
    public static func random(byteCount: Int = 16) -> Self {
        Self(SecureRandom.bytes(byteCount))
    }
}

/// An account's id, which is its WebAuthn user handle: 32 random bytes, never its name.
///
/// It is the key by which rows are spread over machines.
public typealias AccountID = Identifier<Account>
/// A credential's id, as the authenticator chose it; at most 1023 bytes, unique among all accounts.
public typealias CredentialID = Identifier<Credential>
/// A session's id.
public typealias SessionID = Identifier<Session>
/// A ceremony's id.
public typealias CeremonyID = Identifier<Ceremony>
/// The id of an activation of the attestation CA.
public typealias ActivationID = Identifier<Activation>
/// A transaction's id.
public typealias TransactionID = Identifier<Transaction>

/// What a token is looked up by: the SHA-256 of its text, 32 bytes; a store never sees a token.
public struct TokenDigest: Hashable, Sendable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Takes a digest as it is.
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
