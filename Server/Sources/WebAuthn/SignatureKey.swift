internal import Crypto
internal import CryptoExtras
internal import Foundation
internal import WebAuthnModel
internal import X509

/// A public key for verifying signatures, of a credential or a certificate.
enum SignatureKey {
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)
    case p521(P521.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)
    case rsa(_RSA.Signing.PublicKey)

    /// The maximum length of an RSA modulus, in bytes: verifying with a longer one is slow.
    private static let mostModulusBytes = 512

    /// Creates a key from a credential's key; nil when it is not a point of its curve, or an RSA key shorter than 2048
    /// bits or longer than 4096.
    init?(_ key: COSEKey) {
        do {
            switch key {
            case .ec2(_, .p256, let x, let y): self = .p256(try .init(rawRepresentation: x + y))
            case .ec2(_, .p384, let x, let y): self = .p384(try .init(rawRepresentation: x + y))
            case .ec2(_, .p521, let x, let y): self = .p521(try .init(rawRepresentation: x + y))
            case .ec2(_, .ed25519, _, _): return nil
            case .ed25519(let x): self = .ed25519(try .init(rawRepresentation: x))
            case .rsa(_, let n, let e):
                guard n.count <= Self.mostModulusBytes, e.count <= 8 else { return nil }
                self = .rsa(try .init(n: n, e: e))
            }
        } catch {
            return nil
        }
    }

    /// Creates a key from a certificate's key; nil for an unsupported kind.
    init?(_ key: Certificate.PublicKey) {
        if let key = P256.Signing.PublicKey(key) {
            self = .p256(key)
        } else if let key = P384.Signing.PublicKey(key) {
            self = .p384(key)
        } else if let key = P521.Signing.PublicKey(key) {
            self = .p521(key)
        } else if let key = Curve25519.Signing.PublicKey(key) {
            self = .ed25519(key)
        } else if let key = _RSA.Signing.PublicKey(key) {
            self = .rsa(key)
        } else {
            return nil
        }
    }

    /// Whether `signature` is valid for `message` with this key and `algorithm`; also false if key and algorithm do not
    /// match.
    func isValid(_ signature: [UInt8], for message: [UInt8], algorithm: COSEAlgorithm) -> Bool {
        switch (self, algorithm) {
        case (.p256(let key), .es256):
            guard let signature = try? P256.Signing.ECDSASignature(derRepresentation: signature) else {
                return false
            }
            return key.isValidSignature(signature, for: SHA256.hash(data: message))
        case (.p384(let key), .es384):
            guard let signature = try? P384.Signing.ECDSASignature(derRepresentation: signature) else {
                return false
            }
            return key.isValidSignature(signature, for: SHA384.hash(data: message))
        case (.p521(let key), .es512):
            guard let signature = try? P521.Signing.ECDSASignature(derRepresentation: signature) else {
                return false
            }
            return key.isValidSignature(signature, for: SHA512.hash(data: message))
        case (.ed25519(let key), .edDSA): return key.isValidSignature(signature, for: message)
        case (.rsa(let key), .rs256):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(
                signature,
                for: SHA256.hash(data: message),
                padding: .insecurePKCS1v1_5
            )
        case (.rsa(let key), .rs1):
            let signature = _RSA.Signing.RSASignature(rawRepresentation: signature)
            return key.isValidSignature(
                signature,
                for: Insecure.SHA1.hash(data: message),
                padding: .insecurePKCS1v1_5
            )
        default: return false
        }
    }
}
