internal import CBOR
public import SecretMemory

/// Private keys that can be used but never exported (`kSecAttrTokenIDSecureEnclave`).
///
/// A key's representation is sealed: it opens only for this keybag, this hardware and its access group. The caller
/// stores it; a permanent key is an item that contains it, or names it (``AttributeKey/namedKeys``). With the first such item
/// that is deleted, the key is, and so is every copy of its representation.
public protocol KeyVault: Sendable {
    /// Creates a P-256 key.
    ///
    /// Does not need the user. Its limits are enforced by ``use(_:for:groups:authorization:)``.
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` and the cause ``DriverCause/locked`` if the
    ///   keybag is locked, `errSecParam` with the cause ``DriverCause/withoutKeyUsage`` for flags without
    ///   `privateKeyUsage`, `errSecAuthFailed` if the flags need an application password and there is none.
    func makeKey(
        _ accessControl: AccessControl,
        group: AccessGroup,
        limits: KeyLimits,
        applicationPassword: ApplicationPassword?
    ) async throws(KeychainError) -> EnclaveKey

    /// Decodes a representation without using the key, which has to belong to one of these groups.
    ///
    /// - Throws: `errSecDecode` for one that is not authentic or belongs to another keybag, group or hardware,
    ///   `errSecItemNotFound` with the cause ``DriverCause/deleted`` for a deleted key, with ``DriverCause/invalidated`` if its
    ///   enrolled set no longer exists, with ``DriverCause/usedUp`` if it has no uses left. While the items cannot be read, it is
    ///   unknown which keys were deleted: their error.
    func key(_ representation: [UInt8], groups: [AccessGroup]) async throws(KeychainError) -> EnclaveKey

    /// Uses a key, or returns the access control that the user must satisfy first.
    ///
    /// A use of a key with a limited number, or with counted signatures, is counted, durably, before it is made: one that fails
    /// afterwards, or is interrupted, counts too.
    /// - Returns: the signature or the shared secret; ``VaultOutcome/needsHardware(_:)`` if the use was counted and the hardware
    ///   has to follow.
    /// - Throws: as ``key(_:groups:)``, `errSecNotAvailable` with the cause ``DriverCause/notYetValid`` before the key's start,
    ///   `errSecItemNotFound` with ``DriverCause/expired`` after its end, `errSecParam` for a malformed digest or public key and for
    ///   another use than ``KeyUse/signCounted(before:after:)`` of a key with counted signatures, or that use of another key,
    ///   `errSecInteractionNotAllowed` with the cause ``DriverCause/locked`` while the key's class is locked.
    func use(
        _ representation: [UInt8],
        for use: KeyUse,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<SecretBytes>

    /// Makes the hardware attest a key; needs the same authorisation as signing with it, but is no use that limits count.
    ///
    /// The statement includes the qualifying data, at most 64 bytes; for a software key there is no evidence.
    func attest(
        _ representation: [UInt8],
        qualifyingData: [UInt8],
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<Attestation>

    /// The identity that attests this machine's keys.
    ///
    /// - Throws: `errSecUnimplemented` without hardware.
    func attestationIdentity() async throws(KeychainError) -> AttestationIdentity

    /// Answers a server's challenge whether the attestation key is in the chip of the endorsement key.
    ///
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: as ``KeyAttester/activate(_:)``, and `errSecUnimplemented` without hardware.
    func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes

    /// Has the hardware sign what the machine was started with, for a server's nonce.
    ///
    /// - Throws: as ``KeyAttester/quote(nonce:)``, and `errSecUnimplemented` without hardware.
    func quote(nonce: [UInt8]) async throws(KeychainError) -> BootQuote
}

/// A key of the vault.
public struct EnclaveKey: Sendable, Equatable {
    /// The sealed key, at most ``longestRepresentation`` bytes.
    public let representation: [UInt8]
    /// Uncompressed X9.63, 65 bytes.
    public let publicKey: [UInt8]
    /// The access control of its use.
    public let accessControl: AccessControl
    /// Whether it was created in hardware and is stored there.
    public let isHardware: Bool
    /// How often it may still be used; nil for any number.
    public let usesLeft: UInt32?
    /// Whether it makes only counted signatures.
    public let isCounted: Bool

    /// The longest representation, in bytes.
    public static let longestRepresentation = 4096
    /// The most keys that one item may name.
    public static let mostNamed = 3

    /// Describes a key.
    public init(
        representation: [UInt8],
        publicKey: [UInt8],
        accessControl: AccessControl,
        isHardware: Bool,
        usesLeft: UInt32? = nil,
        isCounted: Bool = false
    ) {
        self.representation = representation
        self.publicKey = publicKey
        self.accessControl = accessControl
        self.isHardware = isHardware
        self.usesLeft = usesLeft
        self.isCounted = isCounted
    }
}

/// A use of a private key.
public enum KeyUse: Sendable, Equatable {
    /// ECDSA over a digest of 20, 32, 48 or 64 bytes; the result is r and s of 32 bytes each.
    case sign(digest: [UInt8])
    /// ECDH with a public key in X9.63, 65 bytes, for a key exchange; the result is 32 bytes.
    case agree(publicKey: [UInt8])
    /// ECDH as for ``agree(publicKey:)``, but for decryption, which is another operation for access control.
    case decrypt(publicKey: [UInt8])
    /// ECDSA over the SHA-256 of `before`, the number of this signature in 4 bytes, most significant first, and `after`, which are at
    /// most ``longestPart`` bytes each; the result is the number in 4 bytes, then r and s.
    case signCounted(before: [UInt8], after: [UInt8])

    /// The longest part of a message for a counted signature, in bytes.
    public static let longestPart = 4096

    /// Whether the digest has a supported length, the public key the form of an uncompressed point, and a message a supported
    /// length.
    public var isWellFormed: Bool {
        switch self {
        case .sign(let digest): [20, 32, 48, 64].contains(digest.count)
        case .agree(let publicKey), .decrypt(let publicKey):
            publicKey.count == HardwareKey.publicKeyOctetCount && publicKey.first == 4
        case .signCounted(let before, let after): max(before.count, after.count) <= Self.longestPart
        }
    }

    /// Whether it is of a key with counted signatures.
    public var isCounted: Bool {
        if case .signCounted = self { true } else { false }
    }

    /// The operation that a proof must cover.
    public var operation: AccessOperation {
        switch self {
        case .sign, .signCounted: .useKeySign
        case .agree: .useKeyKeyExchange
        case .decrypt: .useKeyDecrypt
        }
    }
}

extension AttributeValue {
    /// The value of ``AttributeKey/namedKeys``: CBOR, an array of representations, at most ``EnclaveKey/mostNamed``.
    public static func keys(_ representations: [[UInt8]]) -> AttributeValue {
        .data(CBORValue.array(representations.map { .bytes($0) }).encoded())
    }

    /// The representations; nil if it is no value of ``AttributeKey/namedKeys``.
    public var namedKeys: [[UInt8]]? {
        guard case .data(let octets) = self, case .array(let parts)? = try? CBORValue(decoding: octets),
            parts.count <= EnclaveKey.mostNamed
        else { return nil }
        var keys: [[UInt8]] = []
        for case .bytes(let representation) in parts { keys.append(representation) }
        return keys.count == parts.count ? keys : nil
    }
}

extension DriverCause {
    /// A private key was requested with flags that lack `privateKeyUsage`.
    public static let withoutKeyUsage = DriverCause(.withoutKeyUsage)
    /// A private key belongs to another access group.
    public static let otherGroup = DriverCause(.otherGroup)
}
