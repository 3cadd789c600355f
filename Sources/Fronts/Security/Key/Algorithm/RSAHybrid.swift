import Crypto
import Foundation
import KeychainModel
import SecretMemory

/// AES-GCM with a fresh key that is encrypted with RSA-OAEP: the encrypted key, the ciphertext, a tag of 16 bytes.
///
/// The IV is 16 zeros; the public key is authenticated as associated data.
enum RSAHybrid {
    /// The length of the fresh key in bytes: AES-128, or AES-256 for RSA keys of at least 4096 bits.
    static func keyByteCount(sizeInBits: Int) -> Int { sizeInBits >= 4096 ? 32 : 16 }

    /// Encrypts.
    static func seal(_ octets: NSData, to key: RSAPublicKey, _ hash: KeyHash) throws(KeychainError) -> NSData
    {
        var fresh = RandomBytes.array(count: keyByteCount(sizeInBits: key.sizeInBits))
        var block = try RSAEncryptionPadding.oaep(hash).encode(fresh, blockByteCount: key.blockByteCount)
        defer {
            wipe(&fresh)
            wipe(&block)
        }
        let sealed = try ZeroIV.seal(octets, under: SymmetricKey(data: fresh), authenticating: key.pkcs1)
        return NSData(data: Data(try key.raise(block)) + sealed)
    }

    /// Decrypts.
    ///
    /// - Throws: `errSecParam` for malformed or unauthentic data.
    static func open(_ octets: NSData, with key: RSAPrivateKey, _ hash: KeyHash) throws(KeychainError)
        -> NSData
    {
        let blockByteCount = key.publicKey.blockByteCount
        guard octets.length >= blockByteCount + ZeroIV.tagByteCount else { throw .wrongInputLength }
        let data = octets as Data
        var block = try key.raise([UInt8](data.prefix(blockByteCount)))
        defer { wipe(&block) }
        let fresh = try RSAEncryptionPadding.oaep(hash).decode(block)
        guard fresh.count == keyByteCount(sizeInBits: key.publicKey.sizeInBits) else {
            throw .wrongInputLength
        }
        return try ZeroIV.open(
            data.dropFirst(blockByteCount),
            under: fresh.withUnsafeBytes { SymmetricKey(data: $0) },
            authenticating: key.publicKey.pkcs1
        )
    }
}

/// AES-GCM with a key that is used only once: the ciphertext and a tag of 16 bytes.
enum ZeroIV {
    /// The length of a tag, and of an IV, in bytes.
    static let tagByteCount = 16

    /// Encrypts.
    static func seal(
        _ octets: NSData,
        under key: SymmetricKey,
        iv: [UInt8] = [UInt8](repeating: 0, count: tagByteCount),
        authenticating associated: [UInt8] = []
    ) throws(KeychainError) -> Data {
        do {
            let box = try AES.GCM.seal(
                octets as Data,
                using: key,
                nonce: AES.GCM.Nonce(data: iv),
                authenticating: associated
            )
            return box.ciphertext + box.tag
        } catch {
            throw .key(.param, "failed to aes-gcm encrypt data")
        }
    }

    /// Decrypts.
    ///
    /// - Throws: `errSecParam` for unauthentic data.
    static func open(
        _ sealed: Data,
        under key: SymmetricKey,
        iv: [UInt8] = [UInt8](repeating: 0, count: tagByteCount),
        authenticating associated: [UInt8] = []
    ) throws(KeychainError) -> NSData {
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: iv),
                ciphertext: sealed.dropLast(tagByteCount),
                tag: sealed.suffix(tagByteCount)
            )
            return NSData(data: try AES.GCM.open(box, using: key, authenticating: associated))
        } catch {
            throw .key(.param, "failed to aes-gcm decrypt data")
        }
    }
}
