internal import Crypto
internal import Foundation
internal import KeychainModel
internal import SecretMemory

/// X25519 (RFC 7748) between a fresh key and the keybag's passcode key: adding an item that is constrained to
/// the passcode needs the public half alone, opening it the private half, which only the passcode opens.
enum PasscodeConstraint {
    static let publicKeyByteCount = 32

    /// A new pair for a keybag.
    static func makePair() -> (publicKey: [UInt8], privateKey: Key) {
        let pair = Curve25519.KeyAgreement.PrivateKey()
        let secret = unsafe pair.rawRepresentation.withUnsafeBytes { unsafe Key(SecretBytes(copying: $0)) }
        return (Array(pair.publicKey.rawRepresentation), secret)
    }

    /// The public half of `privateKey`.
    static func publicKey(of privateKey: PasscodeKey) -> [UInt8]? {
        agreementKey(privateKey).map { Array($0.publicKey.rawRepresentation) }
    }

    /// A fresh share and the key that it agrees on with `publicKey`.
    static func encapsulate(to publicKey: [UInt8]) -> (share: [UInt8], key: Key)? {
        let fresh = Curve25519.KeyAgreement.PrivateKey()
        let share = Array(fresh.publicKey.rawRepresentation)
        guard let peer = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? fresh.sharedSecretFromKeyAgreement(with: peer)
        else { return nil }
        return (share, key(from: secret, share: share, publicKey: publicKey))
    }

    /// The key that `privateKey` agrees on with a share.
    static func decapsulate(_ share: [UInt8], with privateKey: PasscodeKey) -> Key? {
        guard let own = agreementKey(privateKey),
            let peer = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: share),
            let secret = try? own.sharedSecretFromKeyAgreement(with: peer)
        else { return nil }
        return key(from: secret, share: share, publicKey: Array(own.publicKey.rawRepresentation))
    }

    private static func key(from secret: SharedSecret, share: [UInt8], publicKey: [UInt8]) -> Key {
        unsafe secret.withUnsafeBytes {
            unsafe KeyDerivation.derive("passcode constraint", from: $0, salt: share + publicKey)
        }
    }

    private static func agreementKey(_ key: PasscodeKey) -> Curve25519.KeyAgreement.PrivateKey? {
        key.withOctets { octets in
            unsafe octets.withUnsafeBytes { octets in
                try? unsafe Curve25519.KeyAgreement.PrivateKey(rawRepresentation: octets)
            }
        }
    }
}
