internal import CCryptoBoringSSL
internal import SecretMemory

/// HKDF-SHA256 (RFC 5869) with a label for each use, so that no key serves twice.
///
/// Calls the BoringSSL that swift-crypto brings: `HKDF` of swift-crypto goes through `SymmetricKey` and leaves copies
/// in ordinary memory. What the library leaves on the stack is wiped.
enum KeyDerivation {
    /// Derives a key from one secret.
    static func derive(_ label: String, from secret: UnsafeRawBufferPointer, salt: [UInt8]) -> Key {
        let info = Array("touchstone 1 \(label)".utf8)
        return Key(
            unsafe SecretBytes(octetCount: Key.byteCount) { key in
                let isDerived = LockedStack.wiping {
                    unsafe CCryptoBoringSSL_HKDF(
                        key.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        Key.byteCount,
                        CCryptoBoringSSL_EVP_sha256(),
                        secret.baseAddress?.assumingMemoryBound(to: UInt8.self),
                        secret.count,
                        salt,
                        salt.count,
                        info,
                        info.count
                    )
                }
                // 32 bytes are fewer than 255 digests: memory alone can be missing.
                guard isDerived == 1 else { fatalError("touchstone: no memory for HKDF") }
            }
        )
    }

    /// Derives a key from several secrets, one after the other; each has a fixed length by its place.
    static func derive(_ label: String, from secrets: [Key], salt: [UInt8]) -> Key {
        var joined = SecretBuffer(minimumCapacity: secrets.count * Key.byteCount)
        for secret in secrets {
            unsafe secret.withUnsafeBytes { unsafe joined.append(contentsOf: $0) }
        }
        return unsafe joined.withUnsafeBytes { unsafe derive(label, from: $0, salt: salt) }
    }
}
