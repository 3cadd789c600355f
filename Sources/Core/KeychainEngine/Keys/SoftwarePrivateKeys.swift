internal import Crypto
public import KeychainModel
internal import Primitives
public import SecretMemory

/// P-256 keys in software, for machines without key hardware: sealed at rest, opened for each use.
///
/// A blob is the format (1), the public key (65 bytes, X9.63) and the scalar, sealed under a key derived from
/// the authorisation, with the public key as associated data.
public struct SoftwarePrivateKeys: PrivateKeyHardware {
    private static let format: UInt8 = 1
    private static let scalarByteCount = 32
    private static let byteCount =
        1 + HardwareKey.publicKeyOctetCount + scalarByteCount + AEAD.overheadByteCount

    /// Makes keys in software.
    public init() {}

    /// Always false: the scalar is in the daemon's memory while it is used.
    public var isHardware: Bool { false }

    /// Creates a key.
    public func makeKey(authorization: borrowing SecretBytes) async throws(KeychainError) -> HardwareKey {
        // FIPS 186-5, A.2.2: draw random scalars until one is in range; the first nearly always is.
        while true {
            let scalar = SecretBytes.random(count: Self.scalarByteCount)
            guard
                let publicKey = try? unsafe scalar.withUnsafeBytes({ scalar in
                    try LockedStack.wiping {
                        let key = try unsafe P256.Signing.PrivateKey(rawRepresentation: scalar)
                        return Array(key.publicKey.x963Representation)
                    }
                })
            else { continue }
            let sealed = unsafe scalar.withUnsafeBytes {
                unsafe AEAD.seal(
                    $0,
                    with: Self.sealingKey(authorization).symmetric,
                    authenticating: Self.context(publicKey)
                )
            }
            return HardwareKey(blob: [Self.format] + publicKey + sealed, publicKey: publicKey)
        }
    }

    /// Signs a digest with ECDSA.
    public func sign(
        digest: [UInt8],
        with key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> [UInt8] {
        try unsafe Self.withScalar(of: key, authorization) { scalar in
            let key = try unsafe P256.Signing.PrivateKey(rawRepresentation: scalar)
            let signature =
                switch digest.count {
                case 20: try key.signature(for: PresentedDigest<20>(octets: digest))
                case 32: try key.signature(for: PresentedDigest<32>(octets: digest))
                case 48: try key.signature(for: PresentedDigest<48>(octets: digest))
                case 64: try key.signature(for: PresentedDigest<64>(octets: digest))
                default: throw KeychainError(.param)
                }
            return Array(signature.rawRepresentation)
        }
    }

    /// Agrees on a key with ECDH.
    public func agree(
        with publicKey: [UInt8],
        key: [UInt8],
        authorization: borrowing SecretBytes
    ) async throws(KeychainError) -> SecretBytes {
        let secret = try unsafe Self.withScalar(of: key, authorization) { scalar in
            let own = try unsafe P256.KeyAgreement.PrivateKey(rawRepresentation: scalar)
            // Refuses points that are not on the curve.
            guard publicKey.count == HardwareKey.publicKeyOctetCount,
                let peer = try? P256.KeyAgreement.PublicKey(x963Representation: publicKey)
            else { throw KeychainError(.param) }
            return try own.sharedSecretFromKeyAgreement(with: peer)
        }
        return unsafe SecretBytes(octetCount: 32) { target in
            unsafe secret.withUnsafeBytes { unsafe copySecret($0, to: target) }
        }
    }

    /// Lends the scalar of a blob for the duration of `body`.
    private static func withScalar<R>(
        of blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ body: (UnsafeRawBufferPointer) throws -> R
    ) throws(KeychainError) -> R {
        guard blob.count == byteCount, blob[0] == format else { throw .damaged }
        let publicKey = Array(blob[1..<(1 + HardwareKey.publicKeyOctetCount)])
        do {
            return try unsafe AEAD.open(
                Array(blob.dropFirst(1 + HardwareKey.publicKeyOctetCount)),
                with: sealingKey(authorization).symmetric,
                authenticating: context(publicKey)
            ) { scalar in
                // The library wipes memory that it frees, but leaves numbers on the stack.
                try LockedStack.wiping { try unsafe body(scalar) }
            }
        } catch let error as KeychainError {
            throw error
        } catch is AEAD.NotAuthentic {
            throw KeychainError(.authFailed)
        } catch {
            throw .damaged
        }
    }

    private static func sealingKey(_ authorization: borrowing SecretBytes) -> Key {
        unsafe authorization.withUnsafeBytes {
            unsafe KeyDerivation.derive(.softwarePrivateKey, from: $0, salt: [])
        }
    }

    static func context(_ publicKey: [UInt8]) -> [UInt8] {
        Array("touchstone 1 software private key ".utf8) + publicKey
    }
}

/// A digest computed by the caller, in the form swift-crypto signs.
private struct PresentedDigest<let count: Int>: Digest {
    static var byteCount: Int { count }
    let octets: [UInt8]

    var description: String { "\(count) bytes" }

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try unsafe octets.withUnsafeBytes(body)
    }
}
