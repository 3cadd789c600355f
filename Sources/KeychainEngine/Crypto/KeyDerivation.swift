internal import Crypto
internal import Foundation
internal import SecretMemory

/// HKDF-SHA256 (RFC 5869) with a label for each use, so that no key serves twice.
enum KeyDerivation {
    /// Derives a key from one secret.
    static func derive(_ label: String, from secret: UnsafeRawBufferPointer, salt: [UInt8]) -> Key {
        unsafe derive(label, from: SymmetricKey(data: secret), salt: salt)
    }

    /// Derives a key from several secrets, one after the other; each has a fixed length by its place.
    static func derive(_ label: String, from secrets: [Key], salt: [UInt8]) -> Key {
        var joined = SecretBuffer(minimumCapacity: secrets.count * Key.byteCount)
        for secret in secrets {
            unsafe secret.withUnsafeBytes { unsafe joined.append(contentsOf: $0) }
        }
        return unsafe joined.withUnsafeBytes { unsafe derive(label, from: $0, salt: salt) }
    }

    private static func derive(_ label: String, from material: SymmetricKey, salt: [UInt8]) -> Key {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: material,
            salt: salt,
            info: Array("touchstone 1 \(label)".utf8),
            outputByteCount: Key.byteCount
        )
        return unsafe derived.withUnsafeBytes { unsafe Key(SecretBytes(copying: $0)) }
    }
}
