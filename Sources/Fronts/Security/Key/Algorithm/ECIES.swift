import Crypto
import Foundation
import KeychainModel
import SecretMemory

/// ECIES in Apple's format: a fresh public key in X9.63, the ciphertext, a tag of 16 bytes.
///
/// The fresh public key is the shared info of the key derivation. The cipher is AES-128 for P-256 and AES-256
/// for larger curves; the IV has 16 bytes, which are derived after the key or are zeros.
struct ECIES {
    /// The key derivation's hash function.
    let hash: KeyHash
    /// Whether the IV is derived; otherwise it is zeros.
    let derivesIV: Bool

    /// Encrypts to a public key.
    func seal(_ octets: NSData, to key: ECPublicKey) throws(KeychainError) -> NSData {
        let fresh = try SoftwareECPrivateKey(curve: key.curve)
        let secret = try fresh.sharedSecret(with: key, forDecryption: false)
        let (symmetric, iv) = try derive(secret, fresh.publicKey)
        return NSData(data: Data(fresh.publicKey.x963) + (try ZeroIV.seal(octets, under: symmetric, iv: iv)))
    }

    /// Decrypts with a private key.
    ///
    /// - Throws: `errSecParam` for malformed or unauthentic data, and the errors of the key's use.
    func open(_ octets: NSData, with key: any ECPrivateKey) throws(KeychainError) -> NSData {
        let keyByteCount = key.publicKey.curve.publicKeyByteCount
        guard octets.length >= keyByteCount + ZeroIV.tagByteCount else {
            throw .key(.param, "too small input packet for ECIES decrypt")
        }
        let data = octets as Data
        let fresh = try ECPublicKey(x963: [UInt8](data.prefix(keyByteCount)))
        let secret = try key.sharedSecret(with: fresh, forDecryption: true)
        let (symmetric, iv) = try derive(secret, fresh)
        return try ZeroIV.open(data.dropFirst(keyByteCount), under: symmetric, iv: iv)
    }

    private func derive(
        _ secret: borrowing SecretBytes,
        _ fresh: ECPublicKey
    ) throws(KeychainError) -> (key: SymmetricKey, iv: [UInt8]) {
        let keyByteCount = fresh.curve == .p256 ? 16 : 32
        let derived = try X963KeyDerivation.derive(
            keyByteCount + (derivesIV ? ZeroIV.tagByteCount : 0),
            from: secret,
            sharedInfo: fresh.x963,
            hash
        )
        return derived.withUnsafeBytes { octets in
            let iv =
                derivesIV
                ? [UInt8](octets[keyByteCount...]) : [UInt8](repeating: 0, count: ZeroIV.tagByteCount)
            return (SymmetricKey(data: UnsafeRawBufferPointer(rebasing: octets[..<keyByteCount])), iv)
        }
    }
}
