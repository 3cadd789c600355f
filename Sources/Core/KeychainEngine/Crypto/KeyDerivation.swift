internal import Primitives
internal import SecretMemory

/// HKDF with a label for each use, so that no key has two uses.
enum KeyDerivation {
    /// Derives a key from one secret.
    static func derive(_ label: String, from secret: UnsafeRawBufferPointer, salt: [UInt8]) -> Key {
        let info = Array("touchstone 1 \(label)".utf8)
        return Key(
            unsafe SecretBytes(octetCount: Key.byteCount) { key in
                unsafe HKDF.derive(from: secret, salt: salt, info: info, into: key)
            }
        )
    }

    /// Derives a key from the concatenation of several secrets; each position has a fixed length.
    static func derive(_ label: String, from secrets: [Key], salt: [UInt8]) -> Key {
        var joined = SecretBuffer(minimumCapacity: secrets.count * Key.byteCount)
        for secret in secrets {
            unsafe secret.withUnsafeBytes { unsafe joined.append(contentsOf: $0) }
        }
        return unsafe joined.withUnsafeBytes { unsafe derive(label, from: $0, salt: salt) }
    }
}
