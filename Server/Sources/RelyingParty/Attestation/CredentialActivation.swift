package import Crypto
internal import CryptoExtras

/// A secret that only one chip can decrypt, and only if it holds a certain key: `TPM2_MakeCredential`, in software.
///
/// TPM 2.0 Part 1, section 24 and annexes B.10.4 and C.6.4. A client that returns the secret has proved that the key is
/// in the chip with this endorsement key.
public struct CredentialActivation: Sendable, Equatable {
    /// TPM2B_ID_OBJECT.
    public let credentialBlob: [UInt8]
    /// TPM2B_ENCRYPTED_SECRET.
    public let encryptedSecret: [UInt8]

    /// An endorsement key: a point in uncompressed X9.63, or an RSA key's modulus and exponent.
    public enum EndorsementKey: Sendable, Equatable {
        /// On P-256, with SHA-256 and AES-128 (TCG EK Credential Profile, template L-2).
        case p256([UInt8])
        /// On P-384, with SHA-384 and AES-256 (template H-3).
        case p384([UInt8])
        /// RSA of 2048 bits, with SHA-256 and AES-128 (templates L-1 and H-1).
        case rsa2048(n: [UInt8], e: [UInt8])
    }

    /// Creates one.
    ///
    /// - Parameters:
    ///   - secret: the secret to return; at most as long as the key's hash.
    ///   - name: the name of the key that the chip must hold.
    ///   - key: the chip's endorsement key.
    /// - Throws: the library's error for a point that is not on its curve.
    public init(secret: [UInt8], name: [UInt8], to key: EndorsementKey) throws {
        switch key {
        case .p256(let point):
            try self.init(secret, name, to: point, ephemeral: P256.KeyAgreement.PrivateKey())
        case .p384(let point):
            let ephemeral = P384.KeyAgreement.PrivateKey()
            let shared = try ephemeral.sharedSecretFromKeyAgreement(
                with: try P384.KeyAgreement.PublicKey(x963Representation: point)
            )
            let own = Array(ephemeral.publicKey.rawRepresentation)
            try self.init(
                secret,
                name,
                SHA384.self,
                keyBitCount: 256,
                z: shared.withUnsafeBytes { Array($0) },
                ephemeral: own,
                x: Array(point.dropFirst().prefix(48))
            )
        case .rsa2048(let modulus, let exponent):
            try self.init(
                secret,
                name,
                toRSA: modulus,
                exponent,
                seed: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
            )
        }
    }

    /// For an RSA key: encrypts the seed itself.
    package init(
        _ secret: [UInt8],
        _ name: [UInt8],
        toRSA modulus: [UInt8],
        _ exponent: [UInt8],
        seed: [UInt8]
    ) throws {
        let encryptedSeed = try OAEP.encrypt(seed, label: "IDENTITY", n: modulus, e: exponent)
        try self.init(
            secret,
            name,
            SHA256.self,
            keyBitCount: 128,
            seed: seed,
            encryptedSecret: Self.sized(encryptedSeed)
        )
    }

    /// With a given ephemeral key, for published test vectors.
    package init(
        _ secret: [UInt8],
        _ name: [UInt8],
        to point: [UInt8],
        ephemeral: P256.KeyAgreement.PrivateKey
    ) throws {
        let shared = try ephemeral.sharedSecretFromKeyAgreement(
            with: try P256.KeyAgreement.PublicKey(x963Representation: point)
        )
        try self.init(
            secret,
            name,
            SHA256.self,
            keyBitCount: 128,
            z: shared.withUnsafeBytes { Array($0) },
            ephemeral: Array(ephemeral.publicKey.rawRepresentation),
            x: Array(point.dropFirst().prefix(32))
        )
    }

    private init<Hash: HashFunction>(
        _ secret: [UInt8],
        _ name: [UInt8],
        _: Hash.Type,
        keyBitCount: Int,
        z: [UInt8],
        ephemeral: [UInt8],
        x: [UInt8]
    ) throws {
        let ownX = Array(ephemeral.prefix(x.count))
        let ownY = Array(ephemeral.suffix(x.count))
        // KDFe (Part 1, section 11.4.10.3).
        let seed = Array(Hash.hash(data: Self.big(1) + z + Array("IDENTITY\0".utf8) + ownX + x))
        try self.init(
            secret,
            name,
            Hash.self,
            keyBitCount: keyBitCount,
            seed: seed,
            encryptedSecret: Self.sized(Self.sized(ownX) + Self.sized(ownY))
        )
    }

    private init<Hash: HashFunction>(
        _ secret: [UInt8],
        _ name: [UInt8],
        _: Hash.Type,
        keyBitCount: Int,
        seed: [UInt8],
        encryptedSecret: [UInt8]
    ) throws {
        let encrypted = Array(
            try AES._CFB.encrypt(
                Self.sized(secret),
                using: SymmetricKey(data: Self.kdfa(Hash.self, seed, "STORAGE", name, keyBitCount)),
                iv: AES._CFB.IV(ivBytes: [UInt8](repeating: 0, count: 16))
            )
        )
        let integrityKey = Self.kdfa(Hash.self, seed, "INTEGRITY", [], 8 * Hash.Digest.byteCount)
        let integrity = Array(
            HMAC<Hash>.authenticationCode(for: encrypted + name, using: SymmetricKey(data: integrityKey))
        )
        credentialBlob = Self.sized(Self.sized(integrity) + encrypted)
        self.encryptedSecret = encryptedSecret
    }

    /// KDFa (Part 1, section 11.4.10.2), for at most as many bits as the hash has.
    private static func kdfa<Hash: HashFunction>(
        _: Hash.Type,
        _ key: [UInt8],
        _ label: String,
        _ context: [UInt8],
        _ bitCount: Int
    ) -> [UInt8] {
        let input = big(1) + Array("\(label)\0".utf8) + context + big(UInt32(bitCount))
        let code = HMAC<Hash>.authenticationCode(for: input, using: SymmetricKey(data: key))
        return Array(Array(code).prefix(bitCount / 8))
    }

    private static func sized(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: bytes.count >> 8), UInt8(truncatingIfNeeded: bytes.count)] + bytes
    }

    private static func big(_ number: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
    }
}
