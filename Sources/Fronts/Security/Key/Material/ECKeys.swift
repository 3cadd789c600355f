import Crypto
import Foundation
package import KeychainModel
package import SecretMemory

/// A public key of an elliptic curve.
package struct ECPublicKey: Sendable, Hashable {
    /// The key's curve.
    package let curve: Curve
    /// The uncompressed X9.63 point: the byte 4, then x and y; checked to be on the curve.
    package let x963: [UInt8]

    /// Parses an uncompressed key.
    ///
    /// - Throws: `errSecParam` for an invalid key, including a point that is not on the curve.
    package init(x963: [UInt8]) throws(KeychainError) {
        guard let curve = Curve(octetCount: x963.count, parts: 2), x963.first == 4 else { throw .notAKey }
        self.curve = curve
        self.x963 = x963
        do {
            switch curve {
            case .p256: _ = try P256.Signing.PublicKey(x963Representation: x963)
            case .p384: _ = try P384.Signing.PublicKey(x963Representation: x963)
            case .p521: _ = try P521.Signing.PublicKey(x963Representation: x963)
            }
        } catch {
            throw .notAKey
        }
    }

    /// Whether a signature (r and s, each of a coordinate's length) is valid for a digest.
    func isValid(_ signature: [UInt8], for digest: [UInt8]) -> Bool {
        guard signature.count == 2 * curve.coordinateByteCount else { return false }
        let digest = ForeignDigest(digest)
        do {
            switch curve {
            case .p256:
                return try P256.Signing.PublicKey(x963Representation: x963)
                    .isValidSignature(.init(rawRepresentation: signature), for: digest)
            case .p384:
                return try P384.Signing.PublicKey(x963Representation: x963)
                    .isValidSignature(.init(rawRepresentation: signature), for: digest)
            case .p521:
                return try P521.Signing.PublicKey(x963Representation: x963)
                    .isValidSignature(.init(rawRepresentation: signature), for: digest)
            }
        } catch {
            return false
        }
    }
}

/// A private key of an elliptic curve, in this process or in hardware.
package protocol ECPrivateKey: Sendable {
    /// The public key.
    var publicKey: ECPublicKey { get }

    /// Whether the key can sign digests of this length in bytes.
    func canSign(digestByteCount: Int) -> Bool

    /// Signs a digest; returns r and s, each of a coordinate's length.
    func signature(for digest: [UInt8]) throws(KeychainError) -> [UInt8]

    /// The shared point's x coordinate, for decryption or for a key exchange, which an access control
    /// distinguishes.
    func sharedSecret(
        with publicKey: ECPublicKey,
        forDecryption isDecryption: Bool
    ) throws(KeychainError) -> SecretBytes
}

/// A private key in this process.
struct SoftwareECPrivateKey: ECPrivateKey {
    private enum Key {
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case p521(P521.Signing.PrivateKey)
    }

    private let key: Key
    let publicKey: ECPublicKey

    /// Makes a key.
    init(curve: Curve) throws(KeychainError) {
        switch curve {
        case .p256: try self.init(.p256(P256.Signing.PrivateKey(compactRepresentable: false)))
        case .p384: try self.init(.p384(P384.Signing.PrivateKey(compactRepresentable: false)))
        case .p521: try self.init(.p521(P521.Signing.PrivateKey(compactRepresentable: false)))
        }
    }

    /// Parses an exported key: the public key in X9.63, then the scalar.
    ///
    /// - Throws: `errSecParam` for an invalid key, and if public key and scalar do not match.
    init(x963: [UInt8]) throws(KeychainError) {
        guard let curve = Curve(octetCount: x963.count, parts: 3), x963.first == 4 else { throw .notAKey }
        let key: Key
        do {
            switch curve {
            case .p256: key = .p256(try P256.Signing.PrivateKey(x963Representation: x963))
            case .p384: key = .p384(try P384.Signing.PrivateKey(x963Representation: x963))
            case .p521: key = .p521(try P521.Signing.PrivateKey(x963Representation: x963))
            }
        } catch {
            throw .notAKey
        }
        try self.init(key)
        guard x963.starts(with: publicKey.x963) else { throw .notAKey }
    }

    private init(_ key: Key) throws(KeychainError) {
        self.key = key
        let octets =
            switch key {
            case .p256(let key): key.publicKey.x963Representation
            case .p384(let key): key.publicKey.x963Representation
            case .p521(let key): key.publicKey.x963Representation
            }
        publicKey = try ECPublicKey(x963: [UInt8](octets))
    }

    /// The exported key: the public key in X9.63, then the scalar.
    var x963: Data {
        switch key {
        case .p256(let key): key.x963Representation
        case .p384(let key): key.x963Representation
        case .p521(let key): key.x963Representation
        }
    }

    func canSign(digestByteCount: Int) -> Bool { digestByteCount > 0 }

    func signature(for digest: [UInt8]) throws(KeychainError) -> [UInt8] {
        let digest = ForeignDigest(digest)
        do {
            switch key {
            case .p256(let key): return [UInt8](try key.signature(for: digest).rawRepresentation)
            case .p384(let key): return [UInt8](try key.signature(for: digest).rawRepresentation)
            case .p521(let key): return [UInt8](try key.signature(for: digest).rawRepresentation)
            }
        } catch {
            throw .key(.internalComponent, "ECDSA failed")
        }
    }

    func sharedSecret(
        with other: ECPublicKey,
        forDecryption isDecryption: Bool
    ) throws(KeychainError) -> SecretBytes {
        let secret: SharedSecret
        do {
            switch key {
            case .p256(let key):
                secret = try P256.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                    .sharedSecretFromKeyAgreement(with: .init(x963Representation: other.x963))
            case .p384(let key):
                secret = try P384.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                    .sharedSecretFromKeyAgreement(with: .init(x963Representation: other.x963))
            case .p521(let key):
                secret = try P521.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation)
                    .sharedSecretFromKeyAgreement(with: .init(x963Representation: other.x963))
            }
        } catch {
            throw .key(.param, "the public key is of another curve")
        }
        return try SecretBytes(lent: secret)
    }
}

extension KeychainError {
    /// `errSecParam` for bytes that are not a valid key.
    static let notAKey = KeychainError.key(.param, "key creation from data failed")
}
