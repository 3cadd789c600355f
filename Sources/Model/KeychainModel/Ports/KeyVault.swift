public import SecretMemory

/// Private keys that are used and never given out (`kSecAttrTokenIDSecureEnclave`).
///
/// A key's representation is sealed: it opens for this keybag, this hardware and its access group alone. Where
/// it lies is its owner's business; a permanent key is an item that holds it.
public protocol KeyVault: Sendable {
    /// Makes a P-256 key.
    ///
    /// The user is not needed for it.
    /// - Throws: ``KeychainError`` with `errSecInteractionNotAllowed` and the cause ``DriverCause/locked`` when
    ///   the keybag is locked, `errSecParam` with the cause ``DriverCause/withoutKeyUsage`` for flags without
    ///   `privateKeyUsage`, `errSecAuthFailed` without the application password that they want.
    func makeKey(
        _ accessControl: AccessControl,
        group: AccessGroup,
        applicationPassword: ApplicationPassword?
    ) async throws(KeychainError) -> EnclaveKey

    /// Reads a representation without using the key, which belongs to one of these groups.
    ///
    /// - Throws: `errSecDecode` for one that is not authentic or belongs to another keybag, group or hardware,
    ///   `errSecItemNotFound` with the cause ``DriverCause/invalidated`` when its enrolled set is gone.
    func key(_ representation: [UInt8], groups: [AccessGroup]) async throws(KeychainError) -> EnclaveKey

    /// Uses a key, or tells what the user must show first.
    ///
    /// - Throws: as ``key(_:groups:)``, and `errSecParam` for a digest or a public key that is none,
    ///   `errSecInteractionNotAllowed` with the cause ``DriverCause/locked`` while the key's class is locked.
    func use(
        _ representation: [UInt8],
        for use: KeyUse,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> KeyOutcome<SecretBytes>

    /// Has hardware vouch for a key; needs what signing with it needs.
    ///
    /// The statement carries the qualifying data, at most 64 bytes; there is no evidence for a key that hardware does
    /// not keep.
    func attest(
        _ representation: [UInt8],
        qualifyingData: [UInt8],
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> KeyOutcome<Attestation>

    /// Who vouches for this machine's keys.
    ///
    /// - Throws: `errSecUnimplemented` without hardware.
    func attestationIdentity() async throws(KeychainError) -> AttestationIdentity

    /// Answers a server that wants to know whether the attestation key lives in the chip of the endorsement key.
    ///
    /// - Returns: the secret, at most 64 bytes.
    /// - Throws: as ``KeyAttester/activate(_:)``, and `errSecUnimplemented` without hardware.
    func activate(_ challenge: ActivationChallenge) async throws(KeychainError) -> SecretBytes
}

/// A key of the vault.
public struct EnclaveKey: Sendable, Equatable {
    /// What stands for the key, sealed; at most ``longestRepresentation`` bytes.
    public let representation: [UInt8]
    /// Uncompressed X9.63, 65 bytes.
    public let publicKey: [UInt8]
    /// What its use demands.
    public let accessControl: AccessControl
    /// Whether hardware made it and keeps it.
    public let isHardware: Bool

    /// The longest representation, in bytes.
    public static let longestRepresentation = 4096

    /// Describes a key.
    public init(representation: [UInt8], publicKey: [UInt8], accessControl: AccessControl, isHardware: Bool) {
        self.representation = representation
        self.publicKey = publicKey
        self.accessControl = accessControl
        self.isHardware = isHardware
    }
}

/// What a private key is used for.
public enum KeyUse: Sendable, Equatable {
    /// ECDSA over a digest of 20, 32, 48 or 64 bytes; the result is r and s of 32 bytes each.
    case sign(digest: [UInt8])
    /// ECDH with a public key in X9.63, 65 bytes, for a key exchange; the result is 32 bytes.
    case agree(publicKey: [UInt8])
    /// The same for decryption, which has an operation of its own in access control.
    case decrypt(publicKey: [UInt8])

    /// Whether a digest has a length that is signed, and a public key that of an uncompressed point.
    public var isWellFormed: Bool {
        switch self {
        case .sign(let digest): [20, 32, 48, 64].contains(digest.count)
        case .agree(let publicKey), .decrypt(let publicKey):
            publicKey.count == HardwareKey.publicKeyOctetCount && publicKey.first == 4
        }
    }

    /// The operation that a proof must be for.
    public var operation: AccessOperation {
        switch self {
        case .sign: .useKeySign
        case .agree: .useKeyKeyExchange
        case .decrypt: .useKeyDecrypt
        }
    }
}

extension DriverCause {
    /// A private key was to be made with flags that do not hold `privateKeyUsage`.
    public static let withoutKeyUsage = DriverCause(.withoutKeyUsage)
    /// A private key belongs to another access group.
    public static let otherGroup = DriverCause(.otherGroup)
}

/// What a call that needs a key's authorisation came to.
public enum KeyOutcome<Result: ~Copyable & Sendable>: ~Copyable, Sendable {
    /// The signature, the shared secret or the attestation.
    case result(Result)
    /// The user is needed for this access control; then ask again.
    case needsAuthentication(AccessControl)
}
